-- Two texts side by side in a tab of their own, as `:diffsplit` shows them.
local M = {}

-- What is shown: { tab, id of the request, function to call when it is put away }.
local shown = nil

local function side(text, name, filetype, title)
  local bufnr = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, vim.split((text:gsub('\n$', '')), '\n'))
  vim.bo[bufnr].buftype, vim.bo[bufnr].bufhidden, vim.bo[bufnr].swapfile = 'nofile', 'wipe', false
  vim.bo[bufnr].modifiable, vim.bo[bufnr].filetype = false, filetype
  vim.wo.winbar = (' %s: %s, q closes'):format(vim.fs.basename(name), title):gsub('%%', '%%%%')
  vim.keymap.set('n', 'q', M.close, { buffer = bufnr, nowait = true, desc = 'Close the comparison' })
  vim.cmd.diffthis()
end

---Shows what `magent/showDiff` holds; `back()` is called when the person closes it.
function M.show(params, back)
  M.close()
  local name = vim.uri_to_fname(params.uri)
  local filetype = vim.filetype.match({ filename = name }) or ''
  vim.cmd.tabnew()
  shown = { tab = vim.api.nvim_get_current_tabpage(), id = params.requestId, back = back }
  side(params.original, name, filetype, 'before')
  vim.cmd('rightbelow vnew')
  side(params.modified, name, filetype, 'after')
  vim.cmd('normal! gg]c')
end

---Puts it away; with an id only if it is of that request, which nobody need answer any more.
function M.close(id)
  local now = shown
  if not now or (id and id ~= now.id) then
    return
  end
  shown = nil
  if vim.api.nvim_tabpage_is_valid(now.tab) then
    vim.cmd.tabclose(vim.api.nvim_tabpage_get_number(now.tab))
  end
  if now.back and not id then
    now.back()
  end
end

return M
