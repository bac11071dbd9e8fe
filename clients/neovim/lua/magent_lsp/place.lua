-- Where the person is, as the server's commands take it: file, range in UTF-16 units, diagnostics.
local client = require('magent_lsp.client')

local M = {}

---The range of a command's lines; the exact characters if they are those of the last visual selection.
local function selected(bufnr, first, last)
  local from, to = vim.api.nvim_buf_get_mark(bufnr, '<'), vim.api.nvim_buf_get_mark(bufnr, '>')
  if vim.fn.visualmode() == 'v' and from[1] == first and to[1] == last then
    return vim.lsp.util.make_given_range_params(from, to, bufnr, 'utf-16').range
  end
  return { start = { line = first - 1, character = 0 }, ['end'] = { line = last, character = 0 } }
end

local function cursor()
  return vim.lsp.util.make_position_params(0, 'utf-16').position
end

---Diagnostics on the lines of a range, as LSP writes them.
local function diagnostics(bufnr, range)
  local found = {}
  for _, item in ipairs(vim.diagnostic.get(bufnr)) do
    if item.lnum >= range.start.line and item.lnum <= range['end'].line then
      local lsp = item.user_data and item.user_data.lsp
      table.insert(found, lsp and lsp.range and lsp or {
        range = {
          start = { line = item.lnum, character = item.col },
          ['end'] = { line = item.end_lnum or item.lnum, character = item.end_col or item.col },
        },
        message = item.message,
        severity = item.severity,
        source = item.source,
      })
    end
  end
  return #found > 0 and found or nil
end

---Arguments that say where the person is; `arguments` are those of the `:Magent` command.
function M.here(arguments)
  local bufnr = vim.api.nvim_get_current_buf()
  if not client.is_file(bufnr) then
    return {}
  end
  local range
  if arguments.range > 0 then
    range = selected(bufnr, arguments.line1, arguments.line2)
  else
    local position = cursor()
    range = { start = position, ['end'] = position }
  end
  return { uri = vim.uri_from_bufnr(bufnr), range = range, diagnostics = diagnostics(bufnr, range) }
end

return M
