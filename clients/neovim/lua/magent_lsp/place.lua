-- Where the person is, as the server's commands take it: file, range in UTF-16 units, diagnostics.
local client = require('magent_lsp.client')

local M = {}

local space = vim.api.nvim_create_namespace('magent_lsp_place')

---What a command is about: its first and its last character (line from 1, byte from 0), and whether it is the
---'characters' between them, the 'lines', or the 'cursor'. The exact characters, if its lines are those of the last
---visual selection.
local function meant(bufnr, arguments)
  if arguments.range == 0 then
    local cursor = vim.api.nvim_win_get_cursor(0)
    return cursor, cursor, 'cursor'
  end
  local first, last = arguments.line1, arguments.line2
  local from, to = vim.api.nvim_buf_get_mark(bufnr, '<'), vim.api.nvim_buf_get_mark(bufnr, '>')
  if vim.fn.visualmode() == 'v' and from[1] == first and to[1] == last then
    return from, to, 'characters'
  end
  return { first, 0 }, { last, 0 }, 'lines'
end

---The range as LSP has it, from such characters.
local function range_of(bufnr, from, to, what)
  if what == 'lines' then
    return { start = { line = from[1] - 1, character = 0 }, ['end'] = { line = to[1], character = 0 } }
  end
  local range = vim.lsp.util.make_given_range_params(from, to, bufnr, 'utf-16').range
  if what == 'cursor' then
    range['end'] = range.start
  end
  return range
end

---Has a character followed through changes of the text; `back()` says where it is then, and forgets it. nil if it is
---nowhere any more.
local function follow(bufnr, spot)
  local line = vim.api.nvim_buf_get_lines(bufnr, spot[1] - 1, spot[1], true)[1]
  local id = vim.api.nvim_buf_set_extmark(bufnr, space, spot[1] - 1, math.min(spot[2], #line), {})
  return function()
    if not vim.api.nvim_buf_is_loaded(bufnr) then
      return nil
    end
    local now = vim.api.nvim_buf_get_extmark_by_id(bufnr, space, id, {})
    vim.api.nvim_buf_del_extmark(bufnr, space, id)
    return now[1] and { now[1] + 1, now[2] }
  end
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

---Remembers where the person is; `arguments` are those of the `:Magent` command. The function that is returned, to be
---called once, says it as the server's commands take it, for the text as it is by then: nil if that place is gone.
function M.keep(arguments)
  local bufnr = vim.api.nvim_get_current_buf()
  if not client.is_file(bufnr) then
    return function()
      return {}
    end
  end
  local from, to, what = meant(bufnr, arguments)
  local first, last = follow(bufnr, from), follow(bufnr, to)
  return function()
    from, to = first(), last()
    if from and to then
      local range = range_of(bufnr, from, to, what)
      return { uri = vim.uri_from_bufnr(bufnr), range = range, diagnostics = diagnostics(bufnr, range) }
    end
  end
end

return M
