-- Whether the person types: nothing may take the keys that are meant for a text.
local config = require('magent_lsp.config')

local M = {}

local last_key = 0

---Remembers when a key was last pressed.
function M.watch()
  vim.on_key(function()
    last_key = vim.uv.hrtime()
  end, vim.api.nvim_create_namespace('magent_lsp_quiet'))
end

---Whether the person is in normal mode, and has not pressed a key for a moment.
function M.now()
  local quiet = (vim.uv.hrtime() - last_key) / 1e6 >= config.current.approval.idle
  return quiet and vim.api.nvim_get_mode().mode == 'n' and vim.fn.getcmdwintype() == ''
end

---When the cursor was taken somewhere by itself; for `meant`.
function M.mark()
  return vim.uv.hrtime()
end

---Whether a key can be meant for what took the cursor at `came` (nil: the person went there): who pressed it must
---have seen that first.
function M.meant(came)
  local pause = math.min(config.current.approval.idle, 500)
  return not came or (vim.uv.hrtime() - came) / 1e6 >= pause
end

return M
