-- Permission requests: shown with their difference or command, answered with one key.
local config = require('magent_lsp.config')
local quiet = require('magent_lsp.quiet')
local texts = require('magent_lsp.text')

local M = {}

local space = vim.api.nvim_create_namespace('magent_lsp_approval')

-- Requests that wait, the oldest first: { request, client }.
M.pending = {}

-- The request that is on the screen, with its window, and when that took the cursor by itself; and dialogs of the
-- server that wait for the same answer.
local open, parked = nil, {}

---Whether a question is on the screen.
function M.is_open()
  return open ~= nil and vim.api.nvim_win_is_valid(open.window)
end

local function close()
  if open then
    local window = open.window
    open = nil
    if vim.api.nvim_win_is_valid(window) then
      vim.api.nvim_win_close(window, true)
    end
  end
end

---Closes the window; the request waits.
local function later()
  close()
  require('magent_lsp.client').mention('It waits; `:Magent pending` brings it back.')
end

---Nobody waits for the answer any more; what the person wrote is not lost.
local function late(feedback)
  if feedback then
    vim.fn.setreg('"', feedback)
  end
  local kept = feedback and ' What you wrote is in the register "", for `p`.' or ''
  require('magent_lsp.client').say('That was answered already.' .. kept)
end

---Sends an answer; what becomes of it the event `permission_resolved` says.
function M.respond(entry, reply, feedback)
  close()
  local arguments = { requestId = entry.request.requestId, reply = reply, feedback = feedback }
  require('magent_lsp.client').execute('respond', arguments, function(result)
    if not result.ok then
      late(feedback)
    end
  end, { client = entry.client })
end

local function with_feedback(entry)
  vim.ui.input({ prompt = 'What should the agent do instead? ' }, function(text)
    if not text or vim.trim(text) == '' then
      M.show()
    elseif M.find(entry.request.requestId) then
      M.respond(entry, 'reject', text)
    else
      late(text)
    end
  end)
end

local REPLIES = {
  { 'once', 'allow_once' },
  { 'session', 'allow_session' },
  { 'always', 'allow_always' },
  { 'reject', 'reject' },
}

---The keys that answer a request: { key, title, reply }.
local function choices(entry)
  local keys, offered, found = config.current.approval.keys, {}, {}
  local request = entry.request
  for _, option in ipairs(request.options) do
    offered[option.reply] = option.title
  end
  for _, pair in ipairs(REPLIES) do
    local name, reply = pair[1], pair[2]
    if offered[reply] and keys[name] then
      table.insert(found, { keys[name], texts.one_line(offered[reply]), reply })
    end
  end
  table.insert(found, { keys.feedback, 'Reject, and say what to do instead', 'feedback' })
  if entry.comparison and keys.compare then
    table.insert(found, { keys.compare, 'Show the whole file, before and after', 'compare' })
  end
  table.insert(found, { keys.later, 'Decide later', 'later' })
  return found
end

---The text of the window, and the rows from which and to which it is a difference.
local function text_of(request, keys)
  local lines = { texts.one_line(request.title) }
  for _, line in ipairs(vim.split(request.reason, '\n')) do
    table.insert(lines, line)
  end
  table.insert(lines, '')
  for _, choice in ipairs(keys) do
    table.insert(lines, ('  %s  %s'):format(choice[1], choice[2]))
  end
  table.insert(lines, '')
  local first = #lines
  local what = request.command and ('$ ' .. request.command) or request.diff or ''
  vim.list_extend(lines, vim.split((what:gsub('\n$', '')), '\n'))
  return lines, first
end

local DIFF = { ['+'] = 'MagentAdded', ['-'] = 'MagentRemoved', ['@'] = 'MagentHunk' }

local function paint(bufnr, lines, first, request, keys)
  local function mark(row, group, from, to)
    local options = { end_row = row, end_col = math.min(to or math.huge, #lines[row + 1]), hl_group = group }
    vim.api.nvim_buf_set_extmark(bufnr, space, row, from or 0, options)
  end
  mark(0, 'Title')
  for row = 1, first - #keys - 3 do
    mark(row, 'MagentDim')
  end
  for index, choice in ipairs(keys) do
    mark(first - #keys - 2 + index, 'MagentKey', 2, 2 + #choice[1])
  end
  for row = first, #lines - 1 do
    local group = request.command and 'MagentCommand' or DIFF[lines[row + 1]:sub(1, 1)]
    if group then
      mark(row, group)
    end
  end
end

---How one comes to the window from where one is: `:` is a letter in insert mode.
local function footer()
  if quiet.normal() then
    return ' :Magent pending takes the cursor here '
  end
  local key = vim.api.nvim_get_mode().mode == 't' and [[<C-\><C-n>]] or '<Esc>'
  return (' %s, and the cursor comes here '):format(key)
end

local BELOW = ' <C-e> shows what is below '

local function window_for(lines, entry, focus)
  local longest = 60
  for _, line in ipairs(lines) do
    longest = math.max(longest, vim.fn.strdisplaywidth(line))
  end
  local width = math.min(longest + 2, vim.o.columns - 6, 110)
  local height = 0
  for _, line in ipairs(lines) do
    height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  -- On a small screen the difference comes before all else: a change that one does not see is no question.
  local most = math.max(math.min(vim.o.lines - 4, 20), vim.o.lines - 8, 5)
  local clipped = height > most
  height = math.min(height, most)
  local label = require('magent_lsp.client').label(entry.client)
  local title = label ~= '' and (' Magent asks in %s'):format(label) or ' Magent asks'
  title = title .. (#M.pending > 1 and (' (1 of %d) '):format(#M.pending) or ' ')
  return {
    relative = 'editor',
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
    col = math.floor((vim.o.columns - width) / 2),
    width = width,
    height = height,
    style = 'minimal',
    border = config.current.approval.border,
    title = title,
    title_pos = 'center',
    footer = not focus and footer() or clipped and BELOW or nil,
    footer_pos = (not focus or clipped) and 'center' or nil,
    zindex = 60,
  }
end

local function set_keys(shown, bufnr, keys)
  local entry = shown.entry
  local function map(key, title, act)
    vim.keymap.set('n', key, function()
      if quiet.meant_alone(shown.came) then
        act()
      end
    end, { buffer = bufnr, nowait = true, desc = title })
  end
  for _, choice in ipairs(keys) do
    local key, title, reply = choice[1], choice[2], choice[3]
    map(key, title, function()
      if reply == 'later' then
        later()
      elseif reply == 'feedback' then
        close()
        with_feedback(entry)
      elseif reply == 'compare' then
        close()
        require('magent_lsp.compare').show(entry.comparison, function()
          M.show(true)
        end)
      else
        M.respond(entry, reply)
      end
    end)
  end
  map('<Esc>', 'Decide later', later)
  local cancel = config.current.chat.keys.cancel
  if cancel then
    map(cancel, 'cancel the run', function()
      require('magent_lsp.client').execute('cancel', { runId = entry.request.runId })
    end)
  end
end

---Takes the cursor to the window as soon as nobody types.
local function focus_soon(shown)
  local window = shown.window
  vim.defer_fn(function()
    if open ~= shown or not vim.api.nvim_win_is_valid(window) then
      return
    elseif not quiet.now() then
      vim.api.nvim_win_set_config(window, { footer = footer(), footer_pos = 'center' })
      return focus_soon(shown)
    end
    shown.came = quiet.mark()
    vim.api.nvim_set_current_win(window)
    local clipped = vim.api.nvim_win_text_height(window, {}).all > vim.api.nvim_win_get_height(window)
    vim.api.nvim_win_set_config(window, { footer = clipped and BELOW or '', footer_pos = 'center' })
  end, 100)
end

---Shows the oldest request that waits; `focus` takes the cursor there whatever the person is doing.
---`again` draws it anew, if there is more to say.
function M.show(focus, again)
  local entry = M.pending[1]
  if open and entry == open.entry and not (focus or again) then
    return
  end
  local came = again and focus and open and open.came
  close()
  if not entry then
    if focus then
      require('magent_lsp.client').say('Nothing waits for you.')
    end
    return
  end
  local keys = choices(entry)
  local lines, first = text_of(entry.request, keys)
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  paint(bufnr, lines, first, entry.request, keys)
  vim.bo[bufnr].bufhidden, vim.bo[bufnr].modifiable = 'wipe', false
  vim.bo[bufnr].filetype = 'magentapproval'
  if not focus and quiet.now() then
    focus, came = true, quiet.mark()
  end
  local shown = { entry = entry, came = came }
  set_keys(shown, bufnr, keys)
  shown.window = vim.api.nvim_open_win(bufnr, focus or false, window_for(lines, entry, focus))
  vim.wo[shown.window].wrap, vim.wo[shown.window].linebreak = true, false
  open = shown
  if not focus then
    focus_soon(shown)
  end
end

---The request of that id that waits, and its place among them.
function M.find(id)
  for index, entry in ipairs(M.pending) do
    if entry.request.requestId == id then
      return entry, index
    end
  end
end

local function resolved(id)
  local entry, index = M.find(id)
  if not entry then
    return
  end
  table.remove(M.pending, index)
  if open and open.entry == entry then
    close()
  end
  require('magent_lsp.compare').close(id)
  local dialog = parked[id]
  parked[id] = nil
  if dialog then
    dialog(vim.NIL)
  end
  vim.schedule(function()
    if M.pending[1] then
      M.show()
    end
  end)
end

function M.event(run, event)
  if event.type == 'permission_requested' then
    table.insert(M.pending, { request = event, client = run.client })
    require('magent_lsp.runs').redraw()
    vim.schedule(M.show)
  elseif event.type == 'permission_resolved' then
    resolved(event.requestId)
    require('magent_lsp.runs').redraw()
  elseif event.type == 'run_finished' then
    for _, entry in ipairs(vim.deepcopy(M.pending)) do
      if entry.request.runId == run.id then
        resolved(entry.request.requestId)
      end
    end
  end
end

---`magent/showDiff`: an edit that is asked about is kept with its question; another one is shown.
function M.compare(params)
  local entry = M.find(params.requestId)
  if entry then
    entry.comparison = params
    if open and open.entry == entry then
      M.show(vim.api.nvim_get_current_win() == open.window, true)
    end
  elseif not params.requestId then
    require('magent_lsp.compare').show(params)
  end
  return vim.NIL
end

local function same_options(request, actions)
  if #request.options ~= #actions then
    return false
  end
  for index, option in ipairs(request.options) do
    if option.title ~= actions[index].title then
      return false
    end
  end
  return true
end

---The request for which a dialog of the server asks; it opens dialogs in the order of the requests.
local function asked_by(params, client)
  for _, entry in ipairs(M.pending) do
    local request = entry.request
    if entry.client == client and not parked[request.requestId] then
      return same_options(request, params.actions or {}) and request or nil
    end
  end
end

---`window/showMessageRequest`: for a permission our window asks instead, and answers by `magent.respond`.
---This dialog then only waits until the request is settled. Its own answer is null, which can allow nothing.
function M.dialog(err, params, context)
  local standard = vim.lsp.handlers['window/showMessageRequest']
  if err then
    return standard(err, params, context)
  end
  local request = asked_by(params, context.client_id)
  if not request then
    return require('magent_lsp.dialogs').ask({ title = params.message }, context.client_id, function(answer)
      coroutine.wrap(function()
        answer(standard(nil, params, context))
      end)()
    end)
  end
  return require('magent_lsp.requests').await(function(answer)
    parked[request.requestId] = answer
  end)
end

return M
