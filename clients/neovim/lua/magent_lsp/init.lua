-- The magent agent in Neovim. The agent itself is the language server `magent-lsp`; this shows what it does.
local M = {}

local GROUPS = {
  MagentAgent = 'Title',
  MagentTool = 'Function',
  MagentDone = 'Function',
  MagentFailed = 'DiagnosticError',
  MagentWaiting = 'DiagnosticWarn',
  MagentDim = 'Comment',
  MagentAdded = 'Added',
  MagentRemoved = 'Removed',
  MagentHunk = 'Changed',
  MagentCommand = 'String',
  MagentKey = 'Special',
  MagentScope = 'CursorLine',
  MagentScopeText = 'Comment',
}

local function highlights()
  for name, link in pairs(GROUPS) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

-- After the prefix: { key, mode, command, what it does }.
local KEYS = {
  { 'm', 'n', 'chat', 'conversation' },
  { 'n', 'n', 'new', 'new conversation' },
  { 'p', { 'n', 'x' }, 'prompt', 'prompt' },
  { 'a', { 'n', 'x' }, 'ask', 'ask about this' },
  { 'e', { 'n', 'x' }, 'edit', 'edit these lines' },
  { 'c', 'n', 'cancel', 'cancel' },
  { 'y', 'n', 'pending', 'go to the question that waits' },
  { 'u', 'n', 'undo', 'undo the last run' },
  { 'r', 'n', 'redo', 'redo what was undone' },
  { 's', 'n', 'sessions', 'sessions' },
  { 'g', 'n', 'agents', 'agents' },
  { 'o', 'n', 'models', 'models' },
  { 'i', 'n', 'status', 'status' },
}

local function set_keys(prefix)
  for _, entry in ipairs(KEYS) do
    local key, modes, command, what = unpack(entry)
    -- `:` and not <Cmd>, so that a selection becomes the command's range.
    local text = (':Magent %s<CR>'):format(command)
    vim.keymap.set(modes, prefix .. key, text, { silent = true, desc = 'Magent: ' .. what })
  end
end

---Sets the plugin up: options as in |magent-lsp-options|. The server starts with the first file.
function M.setup(options)
  if vim.fn.has('nvim-0.10') == 0 then
    vim.notify('magent: Neovim 0.10 or newer is needed', vim.log.levels.ERROR)
    return
  end
  require('magent_lsp.config').apply(options)
  highlights()
  vim.api.nvim_create_autocmd('ColorScheme', {
    group = vim.api.nvim_create_augroup('magent_lsp_colours', {}),
    callback = highlights,
  })
  require('magent_lsp.runs').watch()
  require('magent_lsp.quiet').watch()
  require('magent_lsp.buffers').watch()
  require('magent_lsp.client').autostart()
  local prefix = require('magent_lsp.config').current.prefix
  if prefix then
    set_keys(prefix)
  end
end

---A text for the status line: what the agent does, that it waits for you, or nothing.
function M.status()
  return require('magent_lsp.runs').status()
end

---Says something to the agent in the shown conversation.
function M.prompt(text, arguments)
  require('magent_lsp.chat').say(text, arguments)
end

---Executes a command of the server, such as `execute('status', {}, function(result) … end)`.
function M.execute(name, arguments, done)
  require('magent_lsp.client').execute(name, arguments, done)
end

return M
