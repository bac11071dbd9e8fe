-- What a person may set, and what it is if they do not.
local M = {}

---@class magent.Options
M.defaults = {
  -- The server's command; nil: as in lsp/magent_lsp.lua and in `vim.lsp.config('magent_lsp', …)`.
  cmd = nil,
  -- Start the server for every file; false: with the first `:Magent` only.
  autostart = true,
  -- File types for which it starts; nil: all.
  filetypes = nil,
  -- The server's settings (its section `magent`), such as `{ model = 'anthropic/…' }`.
  settings = {},
  -- Keys under one prefix, such as '<leader>m'; false: no keys.
  prefix = false,
  -- Whether the agent may ask to run Lua in this editor; every time it must be allowed.
  eval = true,
  chat = {
    position = 'right', -- right, left, bottom, tab
    width = 80,
    height = 20, -- with position = 'bottom'
    input_height = 4,
    -- Open by itself: 'answer' when there is something to read, 'always', 'never'.
    open = 'answer',
    folded = true, -- what tools did is folded
    keys = { send = '<C-s>', cancel = '<C-c>', close = 'q', undo = 'gu', help = 'g?' },
  },
  -- In the buffer of a text that the agent proposes.
  proposal = { keys = { accept = '<C-s>', reject = 'ZQ' } },
  approval = {
    border = 'rounded',
    -- A question takes the cursor only if no key was pressed for so long (ms), and never in insert mode.
    idle = 800,
    keys = {
      once = 'y',
      session = 's',
      always = 'a',
      reject = 'n',
      feedback = 'f',
      compare = 'd',
      later = 'q',
    },
  },
}

---@type magent.Options
M.current = vim.deepcopy(M.defaults)

---Merges a person's options into the defaults; an unknown one is named, as a typing error would hide it.
function M.apply(options)
  options = options or {}
  for _, wrong in ipairs(M.unknown(options, M.defaults, '')) do
    vim.notify(('magent: unknown option %s'):format(wrong), vim.log.levels.WARN)
  end
  M.current = vim.tbl_deep_extend('force', vim.deepcopy(M.defaults), options)
end

local free = { settings = true, cmd = true, filetypes = true }

function M.unknown(options, known, path)
  local found = {}
  for name, value in pairs(options) do
    local full = path .. tostring(name)
    if free[full] then -- luacheck: ignore 542
    elseif known[name] == nil then
      table.insert(found, full)
    elseif type(known[name]) == 'table' and type(value) == 'table' then
      vim.list_extend(found, M.unknown(value, known[name], full .. '.'))
    end
  end
  table.sort(found)
  return found
end

return M
