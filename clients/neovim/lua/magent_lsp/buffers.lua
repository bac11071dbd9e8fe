-- What the servers see of the open files: text that is not saved is nowhere but in this editor.
local client = require('magent_lsp.client')

local M = {}

-- The buffers that are listened to.
local heard = {}

-- Those with a change that the servers are not told of yet.
local behind = {}

-- The buffers that were shown to a server of another project.
M.shown = {}

local ENDINGS = { dos = '\r\n', mac = '\r' }

local function text_of(bufnr)
  local ending = ENDINGS[vim.bo[bufnr].fileformat] or '\n'
  local lines = vim.api.nvim_buf_get_lines(bufnr, 0, -1, true)
  return table.concat(lines, ending) .. (vim.bo[bufnr].eol and ending or '')
end

---Our servers that have a buffer open.
local function servers(bufnr)
  return vim.lsp.get_clients({ bufnr = bufnr, name = client.name })
end

---Sends them the whole text of a buffer, if Neovim has not told them of its last change.
local function tell(bufnr)
  behind[bufnr] = nil
  local tick, versions = vim.api.nvim_buf_get_changedtick(bufnr), vim.lsp.util.buf_versions
  if versions[bufnr] == tick then
    return
  end
  for _, server in ipairs(servers(bufnr)) do
    versions[bufnr] = tick -- luacheck: ignore 122
    client.call(server, 'notify', 'textDocument/didChange', {
      textDocument = { uri = vim.uri_from_bufnr(bufnr), version = tick },
      contentChanges = { { text = text_of(bufnr) } },
    })
  end
end

---Has our servers told of all changes to a buffer. Neovim's own listener goes for good with the first change while no
---server has the buffer open, and does not come back with a server; what it does not tell is told from here.
function M.listen(bufnr)
  if heard[bufnr] then
    return
  end
  local deaf = false
  local function tell_soon()
    vim.schedule(function()
      if vim.api.nvim_buf_is_loaded(bufnr) then
        tell(bufnr)
      end
    end)
  end
  heard[bufnr] = vim.api.nvim_buf_attach(bufnr, false, {
    on_lines = function(_, _, tick)
      deaf = vim.lsp.util.buf_versions[bufnr] ~= tick
      if deaf then
        behind[bufnr] = true
        tell_soon()
      end
    end,
    on_reload = function()
      if deaf then
        tell_soon()
      end
    end,
    on_detach = function()
      heard[bufnr], behind[bufnr], M.shown[bufnr] = nil, nil, nil
      for _, server in ipairs(servers(bufnr)) do
        vim.lsp.buf_detach_client(bufnr, server.id)
      end
    end,
  })
end

---The buffer that an edit would change though its server does not see its text; nil if there is none.
local function unseen(edit, id)
  local uris = vim.tbl_keys(edit.changes or {})
  for _, change in ipairs(edit.documentChanges or {}) do
    if change.textDocument then
      table.insert(uris, change.textDocument.uri)
    end
  end
  for _, uri in ipairs(uris) do
    local bufnr = vim.uri_to_bufnr(uri)
    if behind[bufnr] or vim.bo[bufnr].modified and not vim.lsp.buf_is_attached(bufnr, id) then
      return bufnr
    end
  end
end

---`workspace/applyEdit`: what was worked out for the text on the disk does not fit one that is not saved. The server is
---shown that, such as a file of a project within its own, and makes the edit anew. So it does after keys that it is not
---told of yet; Neovim looks for them only where its own listener is.
function M.apply_edit(err, params, context)
  local bufnr = not err and unseen(params.edit, context.client_id)
  if bufnr and behind[bufnr] then
    tell(bufnr)
    return { applied = false, failureReason = 'It has a newer version, which the server sees only now.' }
  elseif bufnr then
    M.shown[bufnr] = true
    vim.lsp.buf_attach_client(bufnr, context.client_id)
    return { applied = false, failureReason = 'It has unsaved text, which the server sees only now.' }
  end
  return vim.lsp.handlers['workspace/applyEdit'](err, params, context)
end

---Listens to what our servers have open.
function M.watch()
  vim.api.nvim_create_autocmd('LspAttach', {
    group = vim.api.nvim_create_augroup('magent_lsp_buffers', {}),
    callback = function(event)
      local server = vim.lsp.get_client_by_id(event.data.client_id)
      if server and server.name == client.name then
        M.listen(event.buf)
      end
    end,
  })
end

return M
