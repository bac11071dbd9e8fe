-- Questions of the server that are no permissions: one after the other, and none under somebody's typing.
local client = require('magent_lsp.client')
local quiet = require('magent_lsp.quiet')

local M = {}

---@class magent.Question
---@field title string
---@field client integer
---@field begin fun(answer: fun(value: any), question: magent.Question) shows it
---@field back fun(value: any)
---@field begun boolean?
---@field told boolean? whether the person knows that it waits
---@field show fun()? shows again what was put away
---@field ended fun()? is told that nobody waits for the answer any more

---Questions that have no answer, the oldest first.
---@type magent.Question[]
M.waiting = {}

local looking = false

local function take(question)
  for index, other in ipairs(M.waiting) do
    if other == question then
      table.remove(M.waiting, index)
      require('magent_lsp.runs').redraw()
      return true
    end
  end
  return false
end

local look

local function begin(question)
  question.begun = true
  question.begin(function(value)
    if take(question) then
      question.back(value)
      look()
    elseif not question.ended then
      client.say('Nobody waits for this answer any more: the run has ended.', 'WARN')
    end
  end, question)
end

---Asks the oldest question once nobody types and no permission is asked for.
look = function()
  local question = M.waiting[1]
  if looking or not question or question.begun then
    return
  elseif quiet.now() and not require('magent_lsp.approval').is_open() then
    return begin(question)
  elseif not question.told then
    question.told = true
    client.mention(('It asks as soon as you pause in normal mode: %s'):format(question.title))
  end
  looking = true
  vim.defer_fn(function()
    looking = false
    look()
  end, 100)
end

---The answer to a question, for handlers: `show(answer, question)` shows it when its time has come. `vim.NIL` if the
---run ends before.
function M.ask(title, id, show)
  return require('magent_lsp.requests').await(function(back)
    table.insert(M.waiting, { title = title, client = id, begin = show, back = back })
    require('magent_lsp.runs').redraw()
    look()
  end)
end

---Takes the person to the oldest question, whatever they are doing; false if there is none.
function M.show()
  local question = M.waiting[1]
  if not question then
    return false
  elseif not question.begun then
    begin(question)
  elseif question.show then
    question.show()
  end
  return true
end

---Whether a call of a run waits for the answer.
local function asks(call, question)
  local given = call.arguments or {}
  local title = call.name == 'propose' and given.title or call.name == 'ask_user' and given.question
  return title and vim.endswith(question.title, vim.split(vim.trim(title), '%s*\n')[1])
end

---Whether a run that has ended in the middle of some call was the only one that could have asked.
local function only(run)
  return next(run.calls)
    and not vim.iter(require('magent_lsp.runs').all):any(function(_, other)
      return other.client == run.client and other.state ~= 'finished'
    end)
end

---Nobody waits for an answer any more.
local function drop(question)
  if take(question) then
    question.back(vim.NIL)
    if question.ended then
      question.ended()
    end
    look()
  end
end

---The questions of a server go with it.
function M.lost(id)
  for _, question in ipairs(vim.list_slice(M.waiting)) do
    if question.client == id then
      drop(question)
    end
  end
end

---A question goes with the call, or the run, that asks it.
function M.event(run, event)
  local calls = event.type == 'tool_call_finished' and { run.calls[event.toolCallId] }
    or event.type == 'run_finished' and run.calls
    or {}
  local all = event.type == 'run_finished' and only(run)
  for _, question in ipairs(vim.list_slice(M.waiting)) do
    local asked = vim.iter(calls):any(function(_, call)
      return asks(call, question)
    end)
    if question.client == run.client and (all or asked) then
      drop(question)
    end
  end
end

return M
