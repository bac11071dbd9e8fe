-- Questions of the server that are no permissions: one after the other, and none under somebody's typing.
local client = require('magent_lsp.client')
local quiet = require('magent_lsp.quiet')

local M = {}

---@class magent.Question
---@field title string
---@field client integer
---@field run string? the run that asks, if that is known
---@field call string? its call
---@field begin fun(answer: fun(value: any), question: magent.Question) shows it
---@field back fun(value: any)
---@field begun boolean?
---@field came integer? when it took the cursor by itself
---@field told boolean? whether the person knows that it waits
---@field show fun()? shows again what was put away
---@field shown (fun(): boolean)? whether it is on the screen; without it, it is from when it has begun
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

---Runs `show()`, which asks the person; if it fails, they have not answered. <C-c> in Neovim's own menu is an error of
---`inputlist()`.
function M.try(show, answer, question)
  local done, problem = pcall(show)
  if done or not vim.list_contains(M.waiting, question) then
    return
  end
  answer(vim.NIL)
  if not tostring(problem):find('Keyboard interrupt', 1, true) then
    client.say(('A question could not be shown: %s'):format(problem), 'ERROR')
  end
end

local function begin(question)
  question.begun = true
  local function answer(value)
    if take(question) then
      question.back(value)
      look()
    elseif not question.ended then
      client.say('Nobody waits for this answer any more: the run has ended.', 'WARN')
    end
  end
  M.try(function()
    question.begin(answer, question)
  end, answer, question)
end

local function on_screen(question)
  return question.begun and (not question.shown or question.shown())
end

---The oldest question that was not asked yet.
local function coming()
  return vim.iter(M.waiting):find(function(question)
    return not question.begun
  end)
end

---Asks the oldest question once nobody types, no permission is asked for and no other one is on the screen.
look = function()
  local question = coming()
  if looking or not question then
    return
  end
  local alone = not vim.iter(M.waiting):any(on_screen) and not require('magent_lsp.approval').is_open()
  if alone and quiet.now() then
    question.came = quiet.mark()
    return begin(question)
  elseif alone and not question.told then
    question.told = true
    client.mention(('It asks as soon as you pause in normal mode: %s'):format(question.title))
  end
  looking = true
  vim.defer_fn(function()
    looking = false
    look()
  end, 100)
end

---The answer to a question, for handlers: `show(answer, question)` shows it when its time has come. `params` has its
---title, and the call that asks it if that is known. `vim.NIL` if that ends before.
function M.ask(params, id, show)
  return require('magent_lsp.requests').await(function(back)
    table.insert(M.waiting, {
      title = params.title,
      client = id,
      run = params.runId,
      call = params.toolCallId,
      begin = show,
      back = back,
    })
    require('magent_lsp.runs').redraw()
    look()
  end)
end

---Takes the person to a question, whatever they are doing: to the oldest that was not asked yet, else to the oldest;
---false if there is none.
function M.show()
  local question = coming() or M.waiting[1]
  if not question then
    return false
  end
  question.came = nil
  if question.show then
    question.show()
  else
    begin(question)
  end
  return true
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
  local over = event.type == 'run_finished'
  if not over and event.type ~= 'tool_call_finished' then
    return
  end
  local all = over and only(run)
  for _, question in ipairs(vim.list_slice(M.waiting)) do
    local own = question.run == run.id and (over or question.call == event.toolCallId)
    if question.client == run.client and (own or all and not question.run) then
      drop(question)
    end
  end
end

return M
