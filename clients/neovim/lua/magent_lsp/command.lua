-- The command `:Magent`, its sub-commands and their completion.
local chat = require('magent_lsp.chat')
local client = require('magent_lsp.client')
local pickers = require('magent_lsp.pickers')
local place = require('magent_lsp.place')

local M = {}

-- Names for completion, as each server last told them, by client id.
local known = {}

local source = chat.where

---Runs `act(text)` with what was typed after the sub-command, or with what the person types now.
local function with_text(text, prompt, act)
  if text ~= '' then
    return act(text)
  end
  vim.ui.input({ prompt = prompt }, function(typed)
    if typed and vim.trim(typed) ~= '' then
      act(typed)
    end
  end)
end

---The same about the place where the person is: `act(text, extra)` gets it as it is when the text is there.
local function with_place(text, arguments, prompt, act)
  local place_of = place.keep(arguments)
  local function done(typed)
    local extra = place_of()
    if not typed or vim.trim(typed) == '' then
      return
    elseif not extra then
      return client.say(('The lines are gone that this was about: %s'):format(typed), 'ERROR')
    end
    act(typed, extra)
  end
  if text ~= '' then
    return done(text)
  end
  vim.ui.input({ prompt = prompt }, done)
end

---Does something with the session that is shown, or was last spoken in.
local function with_session(act)
  local session = chat.current()
  if session then
    act(session)
  else
    client.say('There is no conversation yet; `:Magent sessions` lists those of before.')
  end
end

local function prompt(text, arguments)
  local where = source()
  with_place(text, arguments, 'Prompt: ', function(typed, extra)
    chat.say(typed, extra, where)
  end)
end

local function edit(text, arguments)
  local where = source()
  if not client.is_file(vim.api.nvim_get_current_buf()) then
    return client.say('Go to the file that is to be changed first.', 'ERROR')
  end
  local scope = arguments.bang and 'buffer' or arguments.range > 0 and 'region' or 'line'
  with_place(text, arguments, ('Change this %s: '):format(scope), function(typed, extra)
    -- A change of some lines is a matter of its own, not a part of the conversation.
    local choice = chat.choice(where.root)
    local full = vim.tbl_extend('error', extra, {
      prompt = typed,
      scope = scope,
      agent = choice.agent,
      model = choice.model,
    })
    client.execute('prompt', full, nil, where)
  end)
end

local function ask(text, arguments)
  local where, place_of = source(), place.keep(arguments)
  if not client.is_file(vim.api.nvim_get_current_buf()) then
    place_of()
    return client.say('Go to the file that the question is about first.', 'ERROR')
  end
  local function done(typed)
    local here = place_of()
    if not typed then
      return
    elseif not here or not here.uri then
      return client.say(('The lines are gone that this was about: %s'):format(typed), 'ERROR')
    end
    here.question = vim.trim(typed) ~= '' and typed or nil
    client.execute('ask', here, function(result)
      chat.show(result.sessionId)
    end, where)
  end
  if text ~= '' then
    return done(text)
  end
  vim.ui.input({ prompt = 'Question (empty: explain): ' }, done)
end

local function steer(text)
  local busy = chat.busy()
  if not busy then
    return client.say('Nothing runs.')
  end
  with_text(text, 'Tell the running agent: ', function(typed)
    client.execute('steer', { runId = busy.id, message = typed }, function(result)
      client.say(result.ok and 'Told.' or 'It has just ended.')
    end)
  end)
end

local function status()
  client.execute('status', {}, function(result)
    local lines = {
      ('model %s · agent %s'):format(result.model, result.agent),
      ('%d running · %d waiting for you · project %s'):format(
        #result.runs,
        #result.pending,
        result.trusted and 'trusted' or 'not trusted'
      ),
    }
    for _, run in ipairs(result.runs) do
      table.insert(lines, ('  %s: %s'):format(run.title, run.doing ~= '' and run.doing or run.state))
    end
    for _, problem in ipairs(result.problems) do
      local where = problem.path and problem.path ~= vim.NIL and (problem.path .. ': ') or ''
      table.insert(lines, ('  %s: %s%s'):format(problem.severity, where, problem.message))
    end
    client.say(table.concat(lines, '\n'))
  end, source())
end

---The request that the server has left open, also if it was made before this plugin listened.
local function pending()
  local approval = require('magent_lsp.approval')
  if approval.pending[1] then
    approval.show(true)
  elseif not require('magent_lsp.dialogs').show() then
    client.say('Nothing waits for you.')
  end
end

local function explain(text)
  local tool, rest = text:match('^(%S+)%s*(.*)$')
  if not tool then
    return client.say('Say which tool: `:Magent explain bash git push`.', 'ERROR')
  end
  local field = ({ bash = 'command', fetch = 'url', delegate = 'agent', skill = 'name' })[tool] or 'path'
  local arguments = rest ~= '' and { [field] = rest } or vim.empty_dict()
  client.execute('explainPermission', { tool = tool, arguments = arguments }, function(result)
    client.say(('%s: %s'):format(result.verdict, result.reason))
  end, source())
end

local function export()
  with_session(function(session)
    client.execute('exportSession', { sessionId = session, format = 'markdown' }, function(result)
      chat.leave()
      vim.cmd.enew()
      vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(result.text, '\n'))
      vim.bo.filetype, vim.bo.modified = 'markdown', false
    end, source())
  end)
end

local function delete()
  with_session(function(session)
    vim.ui.select(
      { 'Keep it', 'Delete it' },
      { prompt = 'Delete this conversation for good?' },
      function(choice)
        if choice == 'Delete it' then
          client.execute('deleteSession', { sessionId = session }, function()
            chat.close()
            chat.session = nil
            client.say('Deleted.')
          end, source())
        end
      end
    )
  end)
end

local function of_session(command, more)
  return function(text)
    with_session(function(session)
      local arguments = { sessionId = session }
      if more then
        arguments[more] = text
      end
      client.execute(command, arguments, function(result)
        if command == 'forkSession' then
          require('magent_lsp.transcript').fill(result.sessionId, '*A copy of the conversation before.*')
          chat.open(result.sessionId)
        elseif command == 'renameSession' then
          client.say(('Renamed to %q.'):format(text))
        end
      end, source())
    end)
  end
end

local function rename(text)
  with_text(text, 'Title: ', of_session('renameSession', 'title'))
end

local function plain(command, said)
  return function()
    client.execute(command, {}, function()
      if said then
        client.say(said)
      end
    end, source())
  end
end

local function optional(text)
  return text ~= '' and text or nil
end

---Sub-commands: { what it does, function(text, arguments), what completes its argument }.
M.commands = {
  chat = { 'open or close the conversation', chat.toggle },
  new = { 'begin another conversation', chat.new },
  prompt = { 'say something, about the selection if there is one', prompt, 'slashCommands' },
  ask = { 'ask about the cursor or the selection; nothing is changed', ask },
  edit = { 'change the line or the selection, ! the buffer, and nothing else', edit },
  steer = { 'tell the running agent something', steer },
  cancel = { 'cancel what runs', chat.cancel },
  pending = { 'go to the question that waits for you', pending },
  undo = { 'take back the edits of the last run', pickers.undo },
  redo = { 'bring back what undo took', pickers.redo },
  agents = {
    'choose the agent',
    function(text)
      pickers.agents(optional(text))
    end,
    'agents',
  },
  models = {
    'choose the model',
    function(text)
      pickers.models(optional(text))
    end,
    'models',
  },
  sessions = {
    'go on with a past conversation; a text searches',
    function(text)
      pickers.sessions(optional(text))
    end,
  },
  commands = { 'choose a /command', pickers.slash_commands },
  skills = {
    'list the skills',
    function()
      pickers.read_only('skills', 'Skill')
    end,
  },
  tools = {
    'list the tools',
    function()
      pickers.read_only('tools', 'Tool')
    end,
  },
  rename = { 'give the conversation a title', rename },
  fork = { 'go on in a copy of the conversation', of_session('forkSession') },
  summarize = { 'summarize the conversation', of_session('summarizeSession') },
  compact = { 'shorten what the model is sent of the conversation', of_session('compactSession') },
  export = { 'the conversation as Markdown', export },
  delete = { 'delete the conversation', delete },
  status = { 'what runs and what is configured', status },
  grants = { 'see and take back what you allowed for good', pickers.grants },
  explain = { 'why a tool call is allowed, asked or denied', explain },
  trust = { "trust the project's own configuration", plain('trust') },
  doctor = { 'what is configured and what is missing', plain('doctor') },
  restart = {
    'start the server again',
    function()
      local where = source()
      client.stop(function(served)
        vim.iter(served):filter(client.is_file):each(client.start)
        client.ready(where.bufnr, function(found, problem)
          client.say(problem or ('Started again, %s.'):format(found.name), problem and 'ERROR' or 'INFO')
        end, where.client)
      end)
    end,
  },
}

---Runs `:Magent …`.
function M.run(arguments)
  local name, text = arguments.args:match('^(%S*)%s*(.-)%s*$')
  if name == '' then
    name = arguments.range > 0 and 'prompt' or 'chat'
  elseif vim.startswith(name, '/') then
    name, text = 'prompt', arguments.args
  end
  local command = M.commands[name]
  if not command then
    client.say(('There is no `:Magent %s`; `:Magent <Tab>` lists what there is.'):format(name), 'ERROR')
    return
  end
  command[2](text, arguments)
end

---The names that completion offers; the server is asked for them, and they are there the next time.
local function refresh()
  local where = source()
  local found = client.find(where.bufnr, where.client)
  local names = found and known[found.id] or { agents = {}, models = {}, slashCommands = {} }
  if not found or not found.initialized then
    return names
  end
  known[found.id] = names
  for command in pairs(names) do
    client.execute(command, {}, function(items)
      names[command] = vim.tbl_map(function(item)
        return command == 'slashCommands' and '/' .. item.name or item.name or item.model
      end, items)
    end, { client = found.id, failed = function() end })
  end
  return names
end

local function starting(lead, names)
  local found = vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, names)
  table.sort(found)
  return found
end

---Completes the command line.
function M.complete(lead, line)
  local names = refresh()
  local name = line:match('Magent!?%s+(%S+)%s')
  if not name then
    return starting(lead, vim.list_extend(vim.tbl_keys(M.commands), names.slashCommands))
  end
  local command = M.commands[name]
  return command and command[3] and starting(lead, names[command[3]]) or {}
end

---Completes /commands where one writes, as 'completefunc'.
function M.complete_slash(find_start, lead)
  local names = refresh()
  if find_start == 1 then
    local before = vim.api.nvim_get_current_line():sub(1, vim.fn.col('.') - 1)
    return before:match('^%s*/%S*$') and before:find('/') - 1 or -3
  end
  return starting(lead, names.slashCommands)
end

return M
