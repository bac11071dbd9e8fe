-- Lists to choose from, by `vim.ui.select`, and what happens with the choice.
local chat = require('magent_lsp.chat')
local client = require('magent_lsp.client')
local runs = require('magent_lsp.runs')
local transcript = require('magent_lsp.transcript')

local M = {}

local source = chat.where

---Lets the person choose; `none` is said if there is nothing to choose from.
local function choose(items, prompt, format, none, chosen)
  if #items == 0 then
    return client.say(none)
  end
  vim.ui.select(items, { prompt = prompt, format_item = format, kind = 'magent' }, function(item)
    if item then
      chosen(item)
    end
  end)
end

local function one_line(text)
  return (tostring(text or ''):gsub('%s+', ' '))
end

local function named(item)
  return ('%s – %s'):format(item.name, one_line(item.description))
end

function M.agents(name)
  local choice = chat.choice(source().root)
  local function take(agent)
    choice.agent = agent
    client.say(('Agent: %s'):format(agent))
    runs.redraw()
  end
  client.execute('agents', {}, function(agents)
    local primary = vim.tbl_filter(function(agent)
      return agent.mode ~= 'subagent'
    end, agents)
    if name then
      for _, agent in ipairs(primary) do
        if agent.name == name then
          return take(name)
        end
      end
      client.say(('There is no agent %q to talk to.'):format(name), 'ERROR')
      return
    end
    choose(primary, 'Agent', named, 'There is no agent.', function(agent)
      take(agent.name)
    end)
  end, source())
end

function M.models(name)
  local choice = chat.choice(source().root)
  local function take(model)
    choice.model = model
    client.say(('Model: %s'):format(model or 'as configured'))
    runs.redraw()
  end
  if name then
    return take(name)
  end
  client.execute('models', {}, function(models)
    table.insert(models, { other = true })
    choose(
      models,
      'Model',
      function(item)
        return item.other and 'Another one …' or ('%s (%s)'):format(item.model, item.reason)
      end,
      '',
      function(item)
        if not item.other then
          return take(item.model)
        end
        vim.ui.input({ prompt = 'Model, as provider/name: ' }, function(text)
          if text and text ~= '' then
            take(text)
          end
        end)
      end
    )
  end, source())
end

local function open_session(session)
  if not transcript.is_empty(session) then
    return chat.open(session)
  end
  client.execute('exportSession', { sessionId = session, format = 'markdown' }, function(result)
    transcript.fill(session, result.text)
    chat.open(session)
  end, source())
end

local function session_line(item)
  local title = item.title ~= '' and item.title or '(untitled)'
  local excerpt = item.excerpt and ('  …%s'):format(one_line(item.excerpt)) or ''
  return ('%s  %s  [%s]%s'):format(
    item.updated:sub(1, 16):gsub('T', ' '),
    one_line(title),
    item.agent,
    excerpt
  )
end

local function said_something(items)
  return vim.tbl_filter(function(item)
    return not item.empty
  end, items)
end

local function same_folder(one, other)
  return vim.uv.fs_realpath(one or '') == vim.uv.fs_realpath(other)
end

---Sessions of this project; a text searches in what was said.
function M.sessions(text)
  local function show(items)
    choose(said_something(items), 'Session', session_line, 'No session was found.', function(item)
      open_session(item.sessionId)
    end)
  end
  if text then
    client.execute('searchSessions', { text = text }, function(items, found)
      show(vim.tbl_filter(function(item)
        return not found.config.root_dir or same_folder(item.folder, found.config.root_dir)
      end, items))
    end, source())
  else
    local where = source()
    client.ready(where.bufnr, function(found, problem)
      if not found then
        return client.say(problem, 'ERROR')
      end
      client.execute('sessions', { folder = found.config.root_dir }, show, { client = found.id })
    end, where.client)
  end
end

---Skills, slash commands: the choice is put where one writes, or is started.
function M.slash_commands()
  client.execute('slashCommands', {}, function(items)
    choose(
      items,
      'Command',
      function(item)
        return ('/%s %s – %s'):format(item.name, item.argumentHint or '', one_line(item.description))
      end,
      'There is no command.',
      function(item)
        vim.ui.input({ prompt = ('/%s '):format(item.name) }, function(text)
          if text then
            chat.say(vim.trim(('/%s %s'):format(item.name, text)))
          end
        end)
      end
    )
  end, source())
end

---Lists that are only read: the choice shows the whole description.
function M.read_only(command, prompt)
  client.execute(command, {}, function(items)
    choose(items, prompt, named, 'There is none.', function(item)
      client.say(('%s\n%s'):format(item.name, item.description))
    end)
  end, source())
end

local function grant_line(grant)
  local rule = grant.rule or grant
  return ('%s  %s: %s'):format(grant.grantId, rule.tool or '?', rule.pattern or '*')
end

---What was allowed for good; the choice is taken back.
function M.grants()
  client.execute('grants', {}, function(items)
    choose(items, 'Take back', grant_line, 'Nothing was allowed for good.', function(item)
      client.execute('revokeGrant', { grantId = item.grantId }, function()
        client.say(('Taken back: %s'):format(grant_line(item)))
      end, source())
    end)
  end, source())
end

local function names(uris)
  return table.concat(
    vim.tbl_map(function(uri)
      return vim.fn.fnamemodify(vim.uri_to_fname(uri), ':~:.')
    end, uris),
    ', '
  )
end

-- Runs whose edits were taken back, the newest last.
local undone = {}

local function take_back(run, command, words)
  client.execute(command, { runId = run.id }, function(result)
    if #result.restored > 0 then
      client.say(('%s in %s.'):format(words, names(result.restored)))
    end
    if #result.conflicts > 0 then
      client.say(('Left alone, as changed since: %s.'):format(names(result.conflicts)), 'WARN')
    elseif #result.restored == 0 then
      client.say('There was nothing to change.')
    end
    -- A run that has nothing left to take back must not stand before the others.
    if #result.restored > 0 or #result.conflicts == 0 then
      run.undone = command == 'undo'
      undone = vim.tbl_filter(function(other)
        return other ~= run
      end, undone)
      if run.undone then
        table.insert(undone, run)
      end
    end
  end, source())
end

---Takes back the edits of the last run of this project that has some; again for the one before.
function M.undo()
  for _, run in ipairs(runs.with_edits(source().root)) do
    if not run.undone then
      return take_back(run, 'undo', 'Taken back')
    end
  end
  client.say('No run has edits to take back.')
end

function M.redo()
  local root = source().root
  for index = #undone, 1, -1 do
    if runs.is_in(undone[index], root) then
      return take_back(undone[index], 'redo', 'Brought back')
    end
  end
  client.say('Nothing was taken back.')
end

return M
