-- The language client: which server serves a buffer, how it is started, and how it is asked.
local config = require('magent_lsp.config')

local M = { name = 'magent_lsp' }

local modern = vim.fn.has('nvim-0.11') == 1

-- What marks the folder of a project, if the person names nothing else.
local MARKERS = { '.magent', '.git' }

-- Commands that were given before their server was ready, by client id.
local waiting = {}

-- Whom to tell that a command which was sent will have no answer, by client id.
local unanswered = {}

-- The folder of each server that was ready once, by client id; it outlives the server.
local roots = {}

-- The client that has a session, by its id.
local homes = {}

---Calls a method of a client; before 0.11 they took no `self`.
function M.call(client, method, ...)
  if modern then
    return client[method](client, ...)
  end
  return client[method](...)
end

---The table of lsp/magent_lsp.lua, with what the person set by `vim.lsp.config` where there is that.
local function base()
  if modern and vim.lsp.config[M.name] then
    return vim.deepcopy(vim.lsp.config[M.name])
  end
  local file = vim.api.nvim_get_runtime_file('lsp/magent_lsp.lua', false)[1]
  return file and dofile(file) or { cmd = { 'magent-lsp', 'serve' } }
end

---What this plugin adds to the plain configuration: what it can do, and the handlers that do it.
function M.additions()
  local options = config.current
  local can = { events = true, save = true, input = true, diff = true, eval = options.eval and 'lua' or nil }
  return {
    cmd = options.cmd,
    settings = { magent = options.settings },
    init_options = { magent = vim.tbl_extend('keep', { client = can }, options.settings) },
    handlers = require('magent_lsp.requests').handlers(),
    on_init = function(client)
      roots[client.id] = client.config.root_dir
      vim.schedule(function()
        vim.iter(vim.api.nvim_list_bufs()):each(M.join)
        local queue = waiting[client.id] or {}
        waiting[client.id] = nil
        for _, continue in ipairs(queue) do
          continue(client)
        end
      end)
    end,
    on_exit = function(code, signal, id)
      vim.schedule(function()
        M.ended(id, code, signal)
      end)
    end,
  }
end

---A server has left; what waited for it is told, and what it was doing is over.
function M.ended(id, code, signal)
  local queue = waiting[id] or {}
  waiting[id] = nil
  for _, continue in ipairs(queue) do
    continue(nil, 'The server did not start; `:checkhealth magent_lsp` says more.')
  end
  require('magent_lsp.runs').lost(id)
  -- Neovim calls nobody back for a server that has gone.
  local failed = unanswered[id] or {}
  unanswered[id] = nil
  if vim.v.exiting == vim.NIL then
    for fail in pairs(failed) do
      failed[fail] = nil
      fail('The server ended before it answered.')
    end
  end
  if vim.v.exiting == vim.NIL and (code ~= 0 or signal ~= 0) and signal ~= 15 then
    local why = signal ~= 0 and ('signal %d'):format(signal) or ('exit code %d'):format(code)
    M.say(('The server ended (%s). The next `:Magent` starts it again.'):format(why), 'WARN')
  end
end

function M.say(text, level)
  vim.notify(('magent: %s'):format(text), vim.log.levels[level or 'INFO'], { title = 'magent' })
end

---Says something in one line to somebody who types: more would have to be put away with a key.
function M.mention(text, level)
  local line = text:gsub('%s+', ' ')
  M.say(vim.fn.strcharpart(line, 0, math.max(vim.o.columns - 24, 20)), level)
end

---The folder of a project without a mark: the current one, but not all that a person has.
local function unmarked(bufnr)
  local here, folder = vim.fn.getcwd(), vim.fs.dirname(vim.api.nvim_buf_get_name(bufnr))
  local wide = here == vim.fs.normalize('~') or here == vim.fs.dirname(here)
  return wide and M.is_file(bufnr) and vim.fn.isdirectory(folder) == 1 and folder or here
end

---The whole configuration of a server for a buffer.
function M.config(bufnr)
  local found = base()
  local added = M.additions()
  if not modern then
    found = vim.tbl_deep_extend('force', found, added)
  end
  if not found.root_dir or type(found.root_dir) == 'function' then
    found.root_dir = vim.fs.root(bufnr, found.root_markers or MARKERS) or unmarked(bufnr)
  end
  found.name = M.name
  return found
end

---Whether a buffer is a file of the person's; conversations, terminals and file trees are not.
function M.is_file(bufnr)
  return vim.api.nvim_buf_is_loaded(bufnr)
    and vim.bo[bufnr].buftype == ''
    and vim.api.nvim_buf_get_name(bufnr) ~= ''
    and not vim.api.nvim_buf_get_name(bufnr):find('^%a[%w+.-]+://')
end

local function alive(filter)
  filter.name = M.name
  return vim.tbl_filter(function(client)
    return not (client.is_stopped and M.call(client, 'is_stopped'))
  end, vim.lsp.get_clients(filter))
end

---A client that serves a folder; nil if none runs.
local function serving(root)
  for _, client in ipairs(alive({})) do
    if root and client.config.root_dir == root then
      return client
    end
  end
end

---The client of that number, or the one that has come in its place; nil if none runs.
local function heir(id)
  for _, client in ipairs(alive({})) do
    if client.id == id then
      return client
    end
  end
  return serving(roots[id])
end

---The folder of the project that a client serves, or served; nil if it has none.
function M.root(id)
  return id and roots[id]
end

---The client that serves a buffer, that of its own project if there are several; nil if none runs.
local function server_of(bufnr)
  local all = alive({ bufnr = bufnr })
  -- One that was only shown it must not take the place of its own.
  local shown = require('magent_lsp.buffers').shown[bufnr]
  local own = (shown or #all > 1) and serving(M.config(bufnr).root_dir)
  return own or not shown and all[1] or nil
end

---Has the server of a file's project, if it runs, see that file.
function M.join(bufnr)
  local found = M.is_file(bufnr) and serving(M.config(bufnr).root_dir)
  if found then
    vim.lsp.buf_attach_client(bufnr, found.id)
  end
end

---The folder of the project that a buffer is in; nil if it is no file.
function M.root_of(bufnr)
  local found = server_of(bufnr)
  if found then
    return found.config.root_dir
  end
  return M.is_file(bufnr) and M.config(bufnr).root_dir or nil
end

---Remembers which client has a session, or says it.
function M.home(session, id)
  if session and id then
    homes[session] = id
  end
  return homes[session]
end

---The name of a client's project where several are open, else nothing.
function M.label(id)
  local root = M.root(id)
  return root and #alive({}) > 1 and vim.fs.basename(root) or ''
end

---The project of the working directory.
local function folder()
  local markers = M.config(0).root_markers or MARKERS
  return vim.fs.root(vim.fn.getcwd(), markers) or vim.fn.getcwd()
end

---The client `id`, else the one that serves a buffer or is meant where there is no file; nil if none runs.
function M.find(bufnr, id)
  local found = id and heir(id) or server_of(bufnr)
  if found or M.is_file(bufnr) then
    return found
  end
  local all = alive({})
  return #all > 1 and serving(folder()) or all[1]
end

---The client that serves a buffer, started if need be.
function M.start(bufnr)
  local found = M.find(bufnr)
  if found then
    return found
  end
  if not M.is_file(bufnr) then
    -- Without a file there is a conversation all the same: about the working directory.
    return M.start_alone(folder())
  end
  local id = vim.lsp.start(M.config(bufnr), { bufnr = bufnr })
  return id and vim.lsp.get_client_by_id(id)
end

function M.start_alone(root)
  local settings = M.config(0)
  settings.root_dir = root
  local id
  if modern then
    id = vim.lsp.start(settings, { attach = false })
  else
    id = vim.lsp.start_client(settings)
  end
  return id and vim.lsp.get_client_by_id(id)
end

---Has `continue(client)` called once a server is ready; `continue(nil, message)` if it cannot be. It is that of
---`bufnr`, or, if it is given, the client `id` or its successor.
function M.ready(bufnr, continue, id)
  local client = id and (heir(id) or roots[id] and M.start_alone(roots[id])) or M.start(bufnr)
  if not client then
    local what = table.concat(M.config(bufnr).cmd, ' ')
    continue(nil, ('`%s` could not be started; `:checkhealth magent_lsp` says more.'):format(what))
  elseif client.initialized then
    continue(client)
  else
    waiting[client.id] = waiting[client.id] or {}
    table.insert(waiting[client.id], continue)
  end
end

---The client that knows the run, the request or the session that a command is about.
local function concerned(arguments)
  local run = arguments.runId and require('magent_lsp.runs').all[arguments.runId]
  local entry = arguments.requestId and require('magent_lsp.approval').find(arguments.requestId)
  return run and run.client or entry and entry.client or arguments.sessionId and homes[arguments.sessionId]
end

---Executes a command of a server: of the one that has the run, request or session that is named; else of
---`options.client`, else of the one of `options.bufnr`. `done(result)` gets its answer; errors are shown, or go
---to `options.failed(message)`.
function M.execute(name, arguments, done, options)
  arguments = arguments or {}
  options = options or {}
  local bufnr = options.bufnr or vim.api.nvim_get_current_buf()
  local function fail(message)
    if options.failed then
      options.failed(message)
    else
      M.say(message, 'ERROR')
    end
  end
  M.ready(bufnr, function(client, problem)
    if not client then
      return fail(problem)
    end
    local given = next(arguments) and { arguments } or { vim.empty_dict() }
    local params = { command = 'magent.' .. name, arguments = given }
    local open = unanswered[client.id] or {}
    unanswered[client.id], open[fail] = open, true
    local sent = M.call(client, 'request', 'workspace/executeCommand', params, function(err, result)
      if not open[fail] then
        return
      end
      open[fail] = nil
      if err then
        return fail(err.message)
      end
      for _, about in ipairs({ arguments, type(result) == 'table' and result or nil }) do
        M.home(about.sessionId, client.id)
      end
      if done then
        done(result, client)
      end
    end, bufnr)
    if not sent then
      open[fail] = nil
      fail('The server has just ended; try again.')
    end
  end, concerned(arguments) or options.client)
end

---Starts the server for files as they are opened; one that runs sees all open files of its project.
function M.autostart()
  local group = vim.api.nvim_create_augroup('magent_lsp_start', {})
  local options = config.current
  local function begin(bufnr)
    local wanted = not options.filetypes or vim.list_contains(options.filetypes, vim.bo[bufnr].filetype)
    if options.autostart and wanted and M.is_file(bufnr) then
      M.start(bufnr)
    else
      M.join(bufnr)
    end
  end
  if modern then
    vim.lsp.config(M.name, M.additions())
  end
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'FileType', 'BufFilePost' }, {
    group = group,
    callback = function(event)
      vim.schedule(function()
        if vim.api.nvim_buf_is_valid(event.buf) then
          begin(event.buf)
        end
      end)
    end,
  })
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    begin(bufnr)
  end
end

---Ends all servers, politely and else by force; `done(bufnrs)` gets the files that they served.
function M.stop(done)
  local served = {}
  for _, client in ipairs(vim.lsp.get_clients({ name = M.name })) do
    vim.list_extend(served, vim.tbl_keys(client.attached_buffers))
    M.call(client, 'stop')
  end
  local tries = 0
  local function look()
    local left = vim.lsp.get_clients({ name = M.name })
    tries = tries + 1
    if #left == 0 then
      return done(served)
    end
    if tries == 40 then
      for _, client in ipairs(left) do
        M.call(client, 'stop', true)
      end
    end
    vim.defer_fn(look, 50)
  end
  look()
end

return M
