-- The text of conversations: one buffer a session, written as its events come.
local folds = require('magent_lsp.folds')
local texts = require('magent_lsp.text')

local M = {}

local space = vim.api.nvim_create_namespace('magent_lsp_transcript')

local BODY = folds.BODY

local ICONS = {
  pending = '○',
  in_progress = '◌',
  waiting = '?',
  completed = '✓',
  failed = '✗',
  rejected = '⊘',
  cancelled = '■',
  thought = '✻',
  plan = '≡',
}

local ICON_GROUPS = {
  ['✓'] = 'MagentDone',
  ['✗'] = 'MagentFailed',
  ['⊘'] = 'MagentFailed',
  ['?'] = 'MagentWaiting',
}

local STOPPED = {
  end_turn = 'done',
  max_tokens = 'stopped: the answer reached the length limit of the model',
  max_turns = 'stopped: the limit of requests was reached',
  budget = 'stopped: a limit of cost or time was reached',
  loop = 'stopped: the agent repeated itself',
  rejected = 'stopped: you refused a permission',
  cancelled = 'cancelled',
  error = 'failed',
}

---@class magent.Transcript
---@field bufnr integer
---@field session string
---@field block string? what the end of the buffer belongs to: text or thought, and its run
---@field thought boolean? whether the buffer ends with thoughts
---@field items table<string, { mark: integer, lines: integer, title: string, status: string, note: string }>

---@type table<string, magent.Transcript>
local transcripts = {}

---A buffer of ours if it is as it was made; else nil, and it is gone: `:bdelete` takes its text, options and keys, and
---leaves the name.
function M.intact(bufnr)
  if bufnr and vim.api.nvim_buf_is_loaded(bufnr) then
    return bufnr
  elseif bufnr and vim.api.nvim_buf_is_valid(bufnr) then
    vim.api.nvim_buf_delete(bufnr, { force = true })
  end
end

---The transcript of a session, made if need be.
function M.of(session)
  local found = transcripts[session]
  if found and M.intact(found.bufnr) then
    return found
  end
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(bufnr, 'magent://' .. session)
  vim.bo[bufnr].bufhidden, vim.bo[bufnr].modifiable, vim.bo[bufnr].undolevels = 'hide', false, -1
  vim.bo[bufnr].filetype = 'magent'
  if not pcall(vim.treesitter.start, bufnr, 'markdown') then
    vim.bo[bufnr].syntax = 'markdown'
  end
  transcripts[session] = { bufnr = bufnr, session = session, items = {} }
  return transcripts[session]
end

---The session that a buffer shows.
function M.session_of(bufnr)
  for session, transcript in pairs(transcripts) do
    if transcript.bufnr == bufnr then
      return session
    end
  end
end

---Changes a transcript's text by `write`; windows that stood at the end stay at the end.
---What is folded stays so if `folding`: for all but additions at the end.
local function change(transcript, write, folding)
  local bufnr = transcript.bufnr
  local before = vim.api.nvim_buf_line_count(bufnr)
  local following = {}
  for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
    if vim.api.nvim_win_get_cursor(window)[1] >= before then
      table.insert(following, window)
    end
  end
  vim.bo[bufnr].modifiable = true
  if folding then
    folds.keep(bufnr, function()
      write(bufnr)
    end)
  else
    write(bufnr)
  end
  vim.bo[bufnr].modifiable = false
  local last = vim.api.nvim_buf_line_count(bufnr)
  for _, window in ipairs(following) do
    vim.api.nvim_win_set_cursor(window, { last, 0 })
  end
end

local function empty(bufnr)
  return vim.api.nvim_buf_line_count(bufnr) == 1 and vim.api.nvim_buf_get_lines(bufnr, 0, 1, true)[1] == ''
end

---Adds lines at the end; returns the row of the first one. A blank line comes before, if `apart`.
local function append(bufnr, lines, apart)
  local count = vim.api.nvim_buf_line_count(bufnr)
  if empty(bufnr) then
    vim.api.nvim_buf_set_lines(bufnr, 0, -1, true, lines)
    return 0
  end
  if apart and vim.api.nvim_buf_get_lines(bufnr, count - 1, count, true)[1] ~= '' then
    lines = vim.list_extend({ '' }, lines)
    vim.api.nvim_buf_set_lines(bufnr, count, count, true, lines)
    return count + 1
  end
  vim.api.nvim_buf_set_lines(bufnr, count, count, true, lines)
  return count
end

local function paint(bufnr, row, group, from, to)
  local length = #vim.api.nvim_buf_get_lines(bufnr, row, row + 1, true)[1]
  vim.api.nvim_buf_set_extmark(bufnr, space, row, from or 0, {
    end_row = row,
    end_col = math.min(to or length, length),
    hl_group = group,
    priority = 200,
  })
end

---Ends the thoughts at the end of a transcript: they are folded now.
local function end_thought(transcript, bufnr)
  if not transcript.thought then
    return
  end
  local count = vim.api.nvim_buf_line_count(bufnr)
  folds.keep(bufnr, function()
    if vim.api.nvim_buf_get_lines(bufnr, count - 1, count, true)[1] == BODY then
      vim.api.nvim_buf_set_lines(bufnr, count - 1, count, true, {})
    end
  end)
  transcript.thought = false
end

---Adds a piece to the text, or to the thoughts, of a run.
local function stream(transcript, run, kind, text)
  local name = kind .. run.id
  change(transcript, function(bufnr)
    local lines = texts.lines(text)
    if transcript.block ~= name then
      end_thought(transcript, bufnr)
      if kind == 'thought' then
        transcript.thought = true
        paint(bufnr, append(bufnr, { ICONS.thought .. ' Thought', BODY }, true), 'MagentDim')
      else
        while #lines > 1 and lines[1] == '' do
          table.remove(lines, 1)
        end
        append(bufnr, { '' }, true)
      end
      transcript.block = name
    end
    local last = vim.api.nvim_buf_line_count(bufnr) - 1
    local column = #vim.api.nvim_buf_get_lines(bufnr, last, last + 1, true)[1]
    if kind == 'thought' then
      for index = 2, #lines do
        lines[index] = BODY .. lines[index]
      end
    end
    vim.api.nvim_buf_set_text(bufnr, last, column, last, column, lines)
    if kind == 'thought' then
      for row = last, last + #lines - 1 do
        paint(bufnr, row, 'MagentDim')
      end
    end
  end)
end

local function title_line(item)
  local note = item.note ~= '' and ('  ' .. item.note) or ''
  local icon, title = ICONS[item.status] or '○', texts.one_line(item.title)
  return ('%s%s %s%s'):format(item.child and '  ↳ ' or '', icon, title, note)
end

local function row_of(bufnr, item)
  return vim.api.nvim_buf_get_extmark_by_id(bufnr, space, item.mark, {})[1]
end

local function draw_title(bufnr, item)
  local row = row_of(bufnr, item)
  local old = vim.api.nvim_buf_get_lines(bufnr, row, row + 1, true)[1]
  local line = title_line(item)
  vim.api.nvim_buf_set_text(bufnr, row, 0, row, #old, { line })
  local group = ICON_GROUPS[ICONS[item.status]] or 'MagentTool'
  vim.api.nvim_buf_set_extmark(bufnr, space, row, 0, {
    id = item.mark,
    end_row = row,
    end_col = #line,
    hl_group = group,
    priority = 190,
  })
end

---A foldable item, made at the end if it is new: a tool call, the plan.
local function item_of(transcript, key, title, status, child)
  local item = transcript.items[key]
  if item then
    item.title, item.status = title or item.title, status or item.status
  end
  change(transcript, function(bufnr)
    if not item then
      end_thought(transcript, bufnr)
      item = { title = title, status = status, lines = 0, note = '', child = child }
      -- Items that follow each other stand close together.
      local row = append(bufnr, { title_line(item) }, transcript.block ~= 'item')
      item.mark = vim.api.nvim_buf_set_extmark(bufnr, space, row, 0, {})
      transcript.items[key], transcript.block = item, 'item'
    end
    draw_title(bufnr, item)
  end, true)
  return item
end

local DIFF = { ['+'] = 'MagentAdded', ['-'] = 'MagentRemoved', ['@'] = 'MagentHunk' }

---Sets what is folded below an item.
local function body(transcript, item, text, diff)
  local lines = texts.lines((text:gsub('\n+$', '')))
  change(transcript, function(bufnr)
    local first = row_of(bufnr, item) + 1
    local shown = vim.tbl_map(function(line)
      return BODY .. line
    end, lines)
    vim.api.nvim_buf_set_lines(bufnr, first, first + item.lines, true, shown)
    item.lines = #shown
    for index, line in ipairs(lines) do
      local group = diff and DIFF[line:sub(1, 1)] or 'MagentDim'
      paint(bufnr, first + index - 1, 'MagentDim', 0, #BODY)
      paint(bufnr, first + index - 1, group, #BODY)
    end
  end, true)
end

---`+3 -1`: lines that a diff adds and removes.
local function counts(diff)
  local added, removed = 0, 0
  for _, line in ipairs(vim.split(diff, '\n')) do
    if line:find('^%+') and not line:find('^%+%+%+ ') then
      added = added + 1
    elseif line:find('^%-') and not line:find('^%-%-%- ') then
      removed = removed + 1
    end
  end
  return ('+%d -%d'):format(added, removed)
end

local function tool_call(transcript, run, event)
  if event.name == 'todo' and event.status ~= 'failed' then
    return -- the plan itself is shown
  end
  local item = item_of(transcript, event.toolCallId, event.title, event.status, run.parent ~= nil)
  if event.type == 'tool_call_finished' and event.output and event.output ~= '' and not item.diff then
    body(transcript, item, event.output)
  end
end

local function edit(transcript, event)
  local item = transcript.items[event.toolCallId]
  if not item or (event.diff or '') == '' then
    return
  end
  item.diff = (item.diff and item.diff .. '\n' or '') .. event.diff
  item.note = event.outcome == 'applied' and counts(item.diff) or event.outcome
  item_of(transcript, event.toolCallId)
  body(transcript, item, item.diff, true)
end

local function plan(transcript, run, event)
  local done, lines = 0, {}
  for _, todo in ipairs(event.items) do
    done = done + (todo.status == 'completed' and 1 or 0)
    table.insert(lines, ('%s %s'):format(ICONS[todo.status] or '○', todo.content))
  end
  local item = item_of(transcript, 'plan' .. run.id, ('Plan %d/%d'):format(done, #event.items), 'plan')
  body(transcript, item, table.concat(lines, '\n'))
end

local function one_line(transcript, text, group)
  change(transcript, function(bufnr)
    end_thought(transcript, bufnr)
    local row = append(bufnr, texts.lines(text), true)
    for index = row, vim.api.nvim_buf_line_count(bufnr) - 1 do
      paint(bufnr, index, group)
    end
    transcript.block = nil
  end)
end

local function started(transcript, run, event)
  change(transcript, function(bufnr)
    append(bufnr, vim.list_extend({ '## You', '' }, texts.lines(vim.trim(event.prompt))), true)
    local heading = texts.one_line(('## Magent · %s · %s'):format(run.agent, run.model))
    local row = append(bufnr, { heading }, true)
    paint(bufnr, row, 'MagentAgent')
    transcript.block = nil
  end)
end

---`done · 2 edits applied · 1200 tokens · 4.2 s`.
function M.closing(run)
  local event = run.finished
  local parts = { STOPPED[event.stopReason] or event.stopReason }
  local applied, edits = require('magent_lsp.runs').applied(run), #(event.edits or {})
  if edits > 0 then
    local of = applied < edits and (' of %d'):format(edits) or ''
    table.insert(parts, ('%d%s edit%s applied'):format(applied, of, edits == 1 and '' or 's'))
  end
  local usage = event.usage or {}
  local tokens = (usage.inputTokens or 0) + (usage.outputTokens or 0)
  if tokens > 0 then
    table.insert(parts, ('%d tokens'):format(tokens))
  end
  if (usage.costUsd or 0) > 0 then
    table.insert(parts, ('$%.3f'):format(usage.costUsd))
  end
  table.insert(parts, ('%.1f s'):format((vim.uv.hrtime() - run.began) / 1e9))
  return table.concat(parts, ' · ')
end

local function finished(transcript, run, event)
  for _, item in pairs(transcript.items) do
    if item.status == 'in_progress' or item.status == 'pending' or item.status == 'waiting' then
      item.status = 'cancelled'
      change(transcript, function(bufnr)
        draw_title(bufnr, item)
      end, true)
    end
  end
  transcript.items = {}
  if event.error then
    one_line(transcript, '✗ ' .. event.error, 'MagentFailed')
  end
  one_line(transcript, M.closing(run), 'MagentDim')
end

---The transcript in which the events of a run are shown: a subagent's are shown in its parent's.
local function place_of(run)
  local root = run
  while root.parent and require('magent_lsp.runs').all[root.parent] do
    root = require('magent_lsp.runs').all[root.parent]
  end
  return M.of(root.session)
end

local LEVELS = { warning = 'MagentWaiting', error = 'MagentFailed' }

---Writes an event.
function M.event(run, event)
  local transcript, child = place_of(run), run.parent ~= nil
  if event.type:find('^tool_call_') then
    tool_call(transcript, run, event)
  elseif event.type == 'edit_applied' then
    edit(transcript, event)
  elseif event.type == 'permission_requested' and transcript.items[event.toolCallId] then
    item_of(transcript, event.toolCallId, nil, 'waiting')
  elseif child then
    return
  elseif event.type == 'run_started' then
    started(transcript, run, event)
  elseif event.type == 'text_delta' and event.text ~= '' then
    stream(transcript, run, 'text', event.text)
  elseif event.type == 'reasoning_delta' and event.text ~= '' then
    stream(transcript, run, 'thought', event.text)
  elseif event.type == 'todo_updated' then
    plan(transcript, run, event)
  elseif event.type == 'notice' then
    one_line(transcript, event.message, LEVELS[event.level] or 'MagentDim')
  elseif event.type == 'run_finished' then
    finished(transcript, run, event)
  end
end

---Puts the text of a past session into an empty transcript.
function M.fill(session, text)
  local transcript = M.of(session)
  if empty(transcript.bufnr) then
    change(transcript, function(bufnr)
      append(bufnr, texts.lines((text:gsub('\n+$', ''))))
    end)
  end
end

---Whether nothing was said yet in a session, as far as this editor knows.
function M.is_empty(session)
  return empty(M.of(session).bufnr)
end

return M
