-- The windows of a conversation: its transcript, and below it a place to write.
local client = require('magent_lsp.client')
local config = require('magent_lsp.config')
local folds = require('magent_lsp.folds')
local runs = require('magent_lsp.runs')
local transcript = require('magent_lsp.transcript')

local M = {}

local space = vim.api.nvim_create_namespace('magent_lsp_chat')

-- The open windows, the buffer to write in, the session that is shown, and the choices of agent and model.
local view, input, choices = nil, nil, {}
M.session = nil

---The agent and the model that were chosen in a project: another one may not have that agent.
function M.choice(root)
  choices[root or ''] = choices[root or ''] or {}
  return choices[root or '']
end

local function valid(window)
  return window and vim.api.nvim_win_is_valid(window)
end

local function is_open()
  return view and valid(view.transcript) and valid(view.input)
end

---The window of the person's own file: where they were before they came to the conversation.
local function file_window()
  local candidates =
    vim.list_extend({ vim.fn.win_getid(vim.fn.winnr('#')) }, vim.api.nvim_tabpage_list_wins(0))
  for _, window in ipairs(candidates) do
    if valid(window) and client.is_file(vim.api.nvim_win_get_buf(window)) then
      return window
    end
  end
end

---The buffer that the person works on; the current one, or the one beside the conversation.
function M.source()
  local current = vim.api.nvim_get_current_buf()
  if client.is_file(current) then
    return current
  end
  local window = file_window()
  return window and vim.api.nvim_win_get_buf(window) or current
end

---Whether the cursor is in the conversation.
local function inside()
  local current = vim.api.nvim_get_current_win()
  return is_open() and (current == view.transcript or current == view.input)
end

---Where the person is, as `client.execute` takes it, with the folder of that project if it is known: in the shown
---conversation if the cursor is there, else in the file beside it.
function M.where()
  local bufnr = M.source()
  local id = inside() and M.session and client.home(M.session) or nil
  return { bufnr = bufnr, client = id, root = client.root(id) or client.root_of(bufnr) }
end

---Whether the shown conversation is about the project where the person is.
local function is_here(where)
  local root = M.session and client.root(client.home(M.session))
  return not where.root or not root or root == where.root
end

---The session that is meant where the person is: the shown one (nil: a new one begins), else the last one of that
---project.
local function session_of(where)
  if is_here(where) then
    return M.session
  end
  return runs.last_session(where.root)
end

---The session that is on the screen, or was last spoken in where the person is.
function M.current()
  if is_open() and M.session then
    return M.session
  end
  local where = M.where()
  return session_of(where) or runs.last_session(where.root)
end

---The run that is meant where the person is: of the shown conversation, else of that project, else of the
---conversation that is on the screen.
function M.busy()
  local where = M.where()
  local shown = M.session and runs.busy(M.session)[1]
  if shown and is_here(where) then
    return shown
  end
  for _, run in ipairs(runs.busy(nil, where.root)) do
    if run.agent ~= 'guest' then
      return run
    end
  end
  return is_open() and shown or nil
end

---Leaves the windows of the conversation, so that a file can be shown.
function M.leave()
  if inside() then
    local window = file_window()
    if window then
      vim.api.nvim_set_current_win(window)
    else
      vim.cmd('topleft vnew')
    end
  end
end

---What stands above the transcript: agent, model, and what goes on.
function M.winbar()
  local id = M.session and client.home(M.session)
  local choice, label = M.choice(client.root(id) or M.where().root), client.label(id)
  local parts = { 'Magent', choice.agent or 'default agent' }
  if label ~= '' then
    table.insert(parts, 2, label)
  end
  if choice.model then
    table.insert(parts, choice.model)
  end
  local busy = M.session and runs.busy(M.session) or {}
  if busy[1] then
    table.insert(parts, busy[1].state == 'queued' and 'queued' or 'working')
  end
  return (' %s'):format(table.concat(parts, ' · ')):gsub('%%', '%%%%')
end

local input_buffer

local function placeholder()
  vim.api.nvim_buf_clear_namespace(input, space, 0, -1)
  local lines = vim.api.nvim_buf_get_lines(input, 0, 2, false)
  if #lines == 1 and lines[1] == '' then
    local keys = config.current.chat.keys
    local text = ('Ask or tell; /name: command; %s sends, %s cancels, %s helps'):format(
      keys.send,
      keys.cancel,
      keys.help
    )
    vim.api.nvim_buf_set_extmark(input, space, 0, 0, {
      virt_text = { { text, 'MagentDim' } },
      virt_text_pos = 'overlay',
    })
  end
end

---Says `text` in the shown conversation, or in that of the project where the person is; without one, a new one
---begins. `where` is as `where()` said it when they began to write.
function M.say(text, extra, where)
  where = where or M.where()
  local bufnr = where.bufnr
  local about = client.is_file(bufnr) and (not where.root or client.root_of(bufnr) == where.root)
  local arguments = vim.tbl_extend('keep', extra or {}, {
    prompt = text,
    sessionId = session_of(where),
    agent = M.choice(where.root).agent,
    model = M.choice(where.root).model,
    uri = about and vim.uri_from_bufnr(bufnr) or nil,
  })
  client.execute('prompt', arguments, function(result)
    M.show(result.sessionId)
  end, {
    bufnr = bufnr,
    client = where.client,
    failed = function(message)
      client.say(message, 'ERROR')
      -- What was written must not be lost, nor what was written since.
      local writing = input_buffer()
      local since = table.concat(vim.api.nvim_buf_get_lines(writing, 0, -1, false))
      vim.api.nvim_buf_set_lines(writing, 0, since == '' and -1 or 0, false, vim.split(text, '\n'))
      placeholder()
    end,
  })
end

local function send()
  local text = vim.trim(table.concat(vim.api.nvim_buf_get_lines(input, 0, -1, false), '\n'))
  if text == '' then
    return
  end
  vim.api.nvim_buf_set_lines(input, 0, -1, false, { '' })
  placeholder()
  -- A question is answered with a key, which must not end up in the next message.
  vim.cmd.stopinsert()
  M.say(text)
end

local function help()
  local keys = config.current.chat.keys
  client.say(table.concat({
    'keys in the conversation:',
    keys.send .. '  send (also <CR> in normal mode)',
    keys.cancel .. '  cancel what runs',
    keys.undo .. '  take back the edits of the last run',
    '<C-x><C-u>  complete /commands',
    'za  open or close what a tool did; zR all',
    '[[ ]]  the message before, the next',
    'i  write',
    keys.close .. '  close',
  }, '\n  '))
end

local function set_keys(bufnr, writing)
  local keys = config.current.chat.keys
  local function map(modes, key, action, what)
    if key then
      vim.keymap.set(modes, key, action, { buffer = bufnr, nowait = true, desc = 'Magent: ' .. what })
    end
  end
  local function cancel()
    M.cancel()
  end
  map({ 'n', 'i' }, keys.cancel, cancel, 'cancel')
  map('n', keys.close, M.close, 'close')
  map('n', keys.help, help, 'help')
  map('n', keys.undo, function()
    require('magent_lsp.pickers').undo()
  end, 'undo the last run')
  if writing then
    map({ 'n', 'i' }, keys.send, send, 'send')
    map('n', '<CR>', send, 'send')
  else
    for _, key in ipairs({ 'i', 'a', 'I', 'A', 'o', 'O' }) do
      map('n', key, M.write, 'write')
    end
    map('n', ']]', "<Cmd>call search('^## ', 'W')<CR>", 'next message')
    map('n', '[[', "<Cmd>call search('^## ', 'bW')<CR>", 'message before')
  end
end

function input_buffer()
  if transcript.intact(input) then
    return input
  end
  input = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(input, 'magent://write')
  vim.bo[input].bufhidden, vim.bo[input].filetype = 'hide', 'magentinput'
  vim.bo[input].completefunc = "v:lua.require'magent_lsp.command'.complete_slash"
  set_keys(input, true)
  vim.api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI', 'TextChangedP' }, {
    buffer = input,
    callback = placeholder,
  })
  placeholder()
  return input
end

---The look of a window; options of windows belong to the buffer in it, so this comes after the buffer.
local function dress(window)
  local set = vim.wo[window]
  set.number, set.relativenumber, set.signcolumn, set.list = false, false, 'no', false
  set.wrap, set.linebreak, set.breakindent, set.spell, set.cursorline = true, true, true, false, false
  set.foldcolumn, set.colorcolumn, set.winfixwidth = '0', '', true
  set.fillchars = 'eob: ,fold: '
  set.winfixbuf = true
end

local function open_windows()
  local options = config.current.chat
  local positions =
    { right = 'botright vsplit', left = 'topleft vsplit', bottom = 'botright split', tab = 'tab split' }
  vim.cmd(positions[options.position] or positions.right)
  local upper = vim.api.nvim_get_current_win()
  if options.position == 'bottom' then
    vim.api.nvim_win_set_height(upper, options.height)
  elseif options.position ~= 'tab' then
    vim.api.nvim_win_set_width(upper, math.min(options.width, math.floor(vim.o.columns / 2)))
  end
  vim.cmd('belowright split')
  local lower = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_height(lower, options.input_height + 1)
  vim.api.nvim_win_set_buf(lower, input_buffer())
  dress(lower)
  vim.wo[lower].winfixheight, vim.wo[lower].winbar = true, ' Write'
  local opened = { transcript = upper, input = lower }
  view = opened
  -- When one of the two is closed, the other goes as well; not two that were opened since.
  vim.api.nvim_create_autocmd('WinClosed', {
    pattern = { tostring(upper), tostring(lower) },
    once = true,
    callback = vim.schedule_wrap(function()
      if view == opened then
        M.close()
      end
    end),
  })
end

local function show_transcript()
  local bufnr = M.session and transcript.of(M.session).bufnr
  local window = view.transcript
  if not bufnr then
    bufnr = vim.api.nvim_create_buf(false, true)
    vim.bo[bufnr].bufhidden, vim.bo[bufnr].modifiable = 'wipe', false
  elseif vim.api.nvim_win_get_buf(window) == bufnr then
    return
  end
  vim.wo[window].winfixbuf = false
  vim.api.nvim_win_set_buf(window, bufnr)
  set_keys(bufnr, false)
  dress(window)
  local set = vim.wo[window]
  set.foldmethod, set.foldtext = 'manual', ''
  folds.begin(bufnr, window)
  set.conceallevel = 0
  set.winbar = "%{%v:lua.require'magent_lsp.chat'.winbar()%}"
  vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(bufnr), 0 })
end

---Shows the conversation of a session, without moving the cursor; nil: the current one, or a new one.
function M.show(session)
  M.session = session or M.session
  if is_open() then
    vim.api.nvim_win_call(view.transcript, show_transcript)
    return
  end
  local before = vim.api.nvim_get_current_win()
  open_windows()
  vim.api.nvim_win_call(view.transcript, show_transcript)
  vim.api.nvim_set_current_win(before)
end

---Opens the conversation and takes the cursor to where one writes.
function M.open(session)
  M.session = session or M.current()
  M.show()
  M.write()
end

function M.write()
  if is_open() then
    vim.api.nvim_set_current_win(view.input)
    vim.cmd.startinsert({ bang = true })
  end
end

function M.close()
  if not view then
    return
  end
  local windows = view
  view = nil
  if vim.api.nvim_get_current_buf() == input then
    vim.cmd.stopinsert()
  end
  for _, window in pairs(windows) do
    if valid(window) and not pcall(vim.api.nvim_win_close, window, true) then
      -- The last window of the editor stays, with another buffer.
      vim.wo[window].winfixbuf = false
      vim.api.nvim_win_call(window, vim.cmd.enew)
    end
  end
end

function M.toggle()
  if is_open() then
    M.close()
  else
    M.open()
  end
end

---A new conversation; it begins with its first message.
function M.new()
  M.session = nil
  M.show()
  M.write()
end

---Cancels what runs in the shown conversation, else everything in the project where the person is.
function M.cancel()
  local where = M.where()
  local busy = is_open() and M.session and runs.busy(M.session)[1]
  if busy and not is_here(where) and runs.busy(nil, where.root)[1] then
    busy = nil
  end
  client.execute('cancel', { runId = busy and busy.id or nil }, function(result, found)
    if #result.cancelled == 0 then
      local label = client.label(found.id)
      client.say(label ~= '' and ('Nothing runs in %s.'):format(label) or 'Nothing runs.')
    end
  end, where)
end

local function readable(run, event)
  return event.error or (event.text ~= '' and runs.applied(run) == 0 and event.stopReason ~= 'cancelled')
end

---Whether a conversation is a chat document that is open here: there one reads it already.
local function is_document(session)
  local line = 'session: ' .. session
  return vim.iter(vim.api.nvim_list_bufs()):any(function(buffer)
    return vim.api.nvim_buf_is_loaded(buffer)
      and vim.endswith(vim.api.nvim_buf_get_name(buffer), '.magent.md')
      and vim.tbl_contains(vim.api.nvim_buf_get_lines(buffer, 0, 20, false), line)
  end)
end

---Opens by itself, or says in a line how a run ended that nobody watches.
function M.event(run, event)
  if run.parent then
    return
  end
  if is_document(run.session) then
    return runs.redraw()
  end
  local how = run.agent == 'guest' and 'never' or config.current.chat.open
  local begins = event.type == 'run_started' and (how == 'always' or how == 'answer' and run.agent == 'ask')
  local ends = event.type == 'run_finished'
  -- Under somebody's cursor the conversation stays what it is: what they write would be said in another one.
  local kept = inside() and M.session ~= run.session
  if not kept and (begins or (ends and how ~= 'never' and readable(run, event))) then
    M.show(run.session)
  end
  if ends and not (is_open() and M.session == run.session) then
    local text = vim.trim(event.error or event.text)
    local say = vim.api.nvim_get_mode().mode == 'n' and client.say or client.mention
    say((text ~= '' and text .. '\n' or '') .. transcript.closing(run), event.error and 'ERROR' or 'INFO')
  end
  runs.redraw()
end

return M
