-- What the server says of its runs (`magent/event`), kept so that all parts of the plugin see the same.
local M = {}

---@class magent.Run
---@field id string
---@field session string
---@field client integer
---@field state 'queued'|'running'|'finished'
---@field prompt string
---@field agent string
---@field model string
---@field parent string?
---@field calls table<string, table> the events of calls that have begun and not ended, by their ids
---@field began integer
---@field edits table[] its edits so far, as `run_finished` has them in the end
---@field finished table? the event `run_finished`
---@field landed integer? when its edits came to the person's notice, counted up
---@field undone boolean? whether they were taken back

---@type table<string, magent.Run>
M.all = {}

-- Ids in the order in which they began.
local order = {}

-- How often edits have come to the person's notice.
local landings = 0

-- The last text of each progress token, and the order of tokens.
local progress = {}

---Keeps an edit with its run, and with that of the person for which that works: so does the server. Its edits are the
---last ones now, however long the run goes on.
local function keep(run, event)
  local edit, root = { uri = event.uri, outcome = event.outcome }, run
  while M.all[root.parent] do
    root = M.all[root.parent]
  end
  table.insert(run.edits, edit)
  if root ~= run then
    table.insert(root.edits, edit)
  end
  if event.outcome == 'applied' then
    landings = landings + 1
    root.landed, root.undone = landings, false
  end
end

---Takes one event; the parts that show it are told, then `User MagentEvent`.
function M.receive(params, client)
  local event = params.event
  local run = M.all[params.runId]
  if not run then
    run = {
      id = params.runId,
      session = params.sessionId,
      client = client,
      state = 'queued',
      prompt = '',
      calls = {},
      edits = {},
      agent = '',
      model = '',
      began = vim.uv.hrtime(),
    }
    M.all[run.id] = run
    table.insert(order, run.id)
    require('magent_lsp.client').home(run.session, client)
  end
  if event.type == 'run_started' then
    run.state, run.prompt, run.agent = 'running', event.prompt, event.agent
    run.model, run.parent, run.began = event.model, event.parentRunId, vim.uv.hrtime()
  elseif event.type == 'tool_call_started' then
    run.calls[event.toolCallId] = event
  elseif event.type == 'edit_applied' then
    keep(run, event)
  elseif event.type == 'run_finished' then
    run.state, run.finished = 'finished', event
  end
  require('magent_lsp.transcript').event(run, event)
  require('magent_lsp.approval').event(run, event)
  require('magent_lsp.dialogs').event(run, event)
  require('magent_lsp.marks').event(run, event)
  require('magent_lsp.chat').event(run, event)
  if event.type == 'tool_call_finished' then
    run.calls[event.toolCallId] = nil
  end
  local data = { run_id = run.id, session_id = run.session, event = event }
  vim.api.nvim_exec_autocmds('User', { pattern = 'MagentEvent', data = data, modeline = false })
end

---A server has ended; so have its runs.
function M.lost(client)
  progress[client] = nil
  for _, id in ipairs(order) do
    local run = M.all[id]
    if run.client == client and run.state ~= 'finished' then
      local event = { type = 'run_finished', stopReason = 'error', text = '', edits = run.edits, usage = {} }
      event.error = 'The server ended. What was said is kept: prompt again to go on.'
      M.receive({ runId = id, sessionId = run.session, event = event }, client)
    end
  end
  require('magent_lsp.dialogs').lost(client)
  M.redraw()
end

---Whether a run is in the project of a folder; all are, if none is known.
function M.is_in(run, root)
  local own = require('magent_lsp.client').root(run.client)
  return not root or not own or own == root
end

---Runs that are not over, the oldest first; of one session, or one project, if given.
function M.busy(session, root)
  local found = {}
  for _, id in ipairs(order) do
    local run = M.all[id]
    local meant = M.is_in(run, root) and (not session or run.session == session)
    if run.state ~= 'finished' and not run.parent and meant then
      table.insert(found, run)
    end
  end
  return found
end

---The runs of a project that changed a file, the last one first.
function M.with_edits(root)
  local found = vim.tbl_filter(function(run)
    return run.landed and not run.parent and M.is_in(run, root)
  end, vim.tbl_values(M.all))
  table.sort(found, function(one, other)
    return one.landed > other.landed
  end)
  return found
end

---The session that was last spoken in, in one project if given; what agents of other programs do here is no
---conversation.
function M.last_session(root)
  for index = #order, 1, -1 do
    local run = M.all[order[index]]
    if not run.parent and run.agent ~= 'guest' and M.is_in(run, root) then
      return run.session
    end
  end
end

---How many edits of a finished run landed.
function M.applied(run)
  local count = 0
  for _, edit in ipairs(run.finished and run.finished.edits or {}) do
    count = count + (edit.outcome == 'applied' and 1 or 0)
  end
  return count
end

---Takes what `LspProgress` says of our servers.
function M.progress(client, params)
  local lines = progress[client] or {}
  progress[client] = lines
  local value = params.value
  if type(value) ~= 'table' then
    return
  end
  local line = lines[params.token] or { title = '' }
  if value.kind == 'end' then
    lines[params.token] = nil
  else
    line.title = value.title or line.title
    line.message = value.message or line.message
    lines[params.token] = line
  end
  M.redraw()
end

---One short text for the status line; empty when nothing goes on.
function M.status()
  local waiting = #require('magent_lsp.approval').pending + #require('magent_lsp.dialogs').waiting
  if waiting > 0 then
    return waiting == 1 and 'magent: waiting for you' or ('magent: waiting for you (%d)'):format(waiting)
  end
  local count, text = 0, nil
  for _, lines in pairs(progress) do
    for _, line in pairs(lines) do
      count = count + 1
      text = line.message or line.title
    end
  end
  if count == 0 then
    return ''
  end
  return count == 1 and ('magent: ' .. text) or ('magent: %d runs'):format(count)
end

function M.redraw()
  vim.schedule(function()
    vim.cmd.redrawstatus({ bang = true })
  end)
end

---Listens to the progress of our servers.
function M.watch()
  vim.api.nvim_create_autocmd('LspProgress', {
    group = vim.api.nvim_create_augroup('magent_lsp_progress', {}),
    callback = function(event)
      local client = vim.lsp.get_client_by_id(event.data.client_id)
      if client and client.name == require('magent_lsp.client').name then
        M.progress(client.id, event.data.params)
      end
    end,
  })
end

return M
