-- Whether the person types: nothing may take the keys that are meant for a text.
local config = require('magent_lsp.config')

local M = {}

-- When a key was last pressed, and the first of those that came in one go with it.
local last_key, first_key = 0, 0

-- Whether the last key is the first of such.
local alone = true

---For how long nobody presses a key who reads what has come, in ns.
local function pause()
  return math.min(config.current.approval.idle, 500) * 1e6
end

---Remembers when keys are pressed.
function M.watch()
  vim.on_key(function(_, typed)
    if typed == '' then
      return -- what a mapping makes of a key is not pressed
    end
    local now = vim.uv.hrtime()
    alone = now - last_key >= pause()
    first_key = alone and now or first_key
    last_key = now
  end, vim.api.nvim_create_namespace('magent_lsp_quiet'))
end

---Whether the person is in normal mode, also of a terminal.
function M.normal()
  return vim.list_contains({ 'n', 'nt' }, vim.api.nvim_get_mode().mode)
end

---Whether the person is in normal mode, and has not pressed a key for a moment.
function M.now()
  local quiet = (vim.uv.hrtime() - last_key) / 1e6 >= config.current.approval.idle
  return quiet and M.normal() and vim.fn.getcmdwintype() == ''
end

---When the cursor was taken somewhere by itself; for `meant`.
function M.mark()
  return vim.uv.hrtime()
end

---Whether the key that is pressed can be meant for what took the cursor at `came` (nil: the person went there): who
---pressed it must have seen that first, and not be in the middle of typing.
function M.meant(came)
  return not came or first_key - came >= pause()
end

---The same for a key that is a letter of words as well: nothing was pressed just before it.
function M.meant_alone(came)
  return not came or alone and M.meant(came)
end

return M
