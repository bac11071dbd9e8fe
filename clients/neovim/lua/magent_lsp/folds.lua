-- Folds what tools did, below their titles. Folds are made by hand: Neovim does not look at 'foldexpr' while
-- somebody writes in another window, and takes lines for folds when text is inserted beside them.
local config = require('magent_lsp.config')

local M = {}

local space = vim.api.nvim_create_namespace('magent_lsp_folds')

-- What stands before each line that is folded.
M.BODY = '  │ '

---Rows of titles and of their last lines, from 1.
local function ranges(bufnr)
  local found, title = {}, nil
  local lines = vim.api.nvim_buf_get_lines(bufnr, 0, -1, true)
  for row = 1, #lines + 1 do
    local inside = lines[row] and vim.startswith(lines[row], M.BODY)
    if inside and not title then
      title = row - 1
    elseif not inside and title then
      table.insert(found, { title, row - 1 })
      title = nil
    end
  end
  return found
end

---Folds a window anew; titles in `open` (rows) stay open.
local function apply(bufnr, window, open)
  vim.api.nvim_win_call(window, function()
    local view = vim.fn.winsaveview()
    vim.cmd('silent! normal! zE')
    for _, range in ipairs(ranges(bufnr)) do
      vim.cmd(('silent! %d,%dfold'):format(range[1], range[2]))
      if open[range[1]] or not config.current.chat.folded then
        vim.cmd(('silent! %dfoldopen'):format(range[1]))
      end
    end
    vim.fn.winrestview(view)
  end)
end

---Folds a window that shows a buffer for the first time.
function M.begin(bufnr, window)
  apply(bufnr, window, {})
end

---Changes text by `write`, and folds all windows anew as the person had them.
function M.keep(bufnr, write)
  local opened = {}
  for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
    opened[window] = {}
    vim.api.nvim_win_call(window, function()
      for _, range in ipairs(ranges(bufnr)) do
        if vim.fn.foldlevel(range[1]) > 0 and vim.fn.foldclosed(range[1]) == -1 then
          local mark = vim.api.nvim_buf_set_extmark(bufnr, space, range[1] - 1, 0, {})
          table.insert(opened[window], mark)
        end
      end
    end)
  end
  write()
  for window, marks in pairs(opened) do
    local open = {}
    for _, mark in ipairs(marks) do
      open[vim.api.nvim_buf_get_extmark_by_id(bufnr, space, mark, {})[1] + 1] = true
    end
    apply(bufnr, window, open)
  end
  vim.api.nvim_buf_clear_namespace(bufnr, space, 0, -1)
end

return M
