-- What the server asks of this editor: save, ask the person, run Lua, show a difference.
local dialogs = require('magent_lsp.dialogs')
local texts = require('magent_lsp.text')

local M = {}

---Runs `ask(answer)` and waits for `answer(value)`; for handlers, which Neovim runs as coroutines.
function M.await(ask)
  local thread, main = coroutine.running()
  assert(thread and not main, 'magent: this Neovim is too old for questions of a server (0.10 is needed)')
  ask(function(value)
    vim.schedule(function()
      coroutine.resume(thread, value)
    end)
  end)
  return coroutine.yield()
end

---Whether the file of a changed buffer was changed on the disk as well; `:write` would ask then, and block.
local function changed_on_disk(bufnr)
  local conflict = false
  local id = vim.api.nvim_create_autocmd('FileChangedShell', {
    buffer = bufnr,
    callback = function()
      conflict = true
      vim.v.fcs_choice = ''
    end,
  })
  pcall(vim.cmd.checktime, { args = { tostring(bufnr) }, mods = { silent = true } })
  vim.api.nvim_del_autocmd(id)
  return conflict
end

local function save(bufnr)
  if not vim.bo[bufnr].modified then
    return true
  end
  if changed_on_disk(bufnr) then
    return false
  end
  vim.fn.mkdir(vim.fs.dirname(vim.api.nvim_buf_get_name(bufnr)), 'p')
  local done = pcall(vim.api.nvim_buf_call, bufnr, function()
    vim.cmd('silent lockmarks write')
  end)
  return done and not vim.bo[bufnr].modified
end

---`magent/save`: saves buffers that have something to save.
function M.save(params)
  local saved = {}
  for _, uri in ipairs(params.uris) do
    local bufnr = vim.fn.bufnr(vim.uri_to_fname(uri))
    if bufnr > 0 and vim.api.nvim_buf_is_loaded(bufnr) and save(bufnr) then
      table.insert(saved, uri)
    end
  end
  return { saved = saved }
end

local function choose_several(params, answer, question)
  local chosen = {}
  local function again()
    local items = { { done = true } }
    for _, option in ipairs(params.options) do
      table.insert(items, { option = option })
    end
    vim.ui.select(items, {
      prompt = params.title,
      format_item = function(item)
        if item.done then
          return 'Done'
        end
        return (chosen[item.option] and '[x] ' or '[ ] ') .. item.option
      end,
    }, function(item)
      if not item then
        return answer(vim.NIL)
      elseif item.option then
        chosen[item.option] = not chosen[item.option]
        return vim.schedule(function()
          dialogs.try(again, answer, question)
        end)
      end
      answer(vim.tbl_filter(function(option)
        return chosen[option]
      end, params.options))
    end)
  end
  again()
end

local function ask(params, answer, question)
  local prompt = table.concat(
    vim.tbl_filter(function(text)
      return (text or '') ~= ''
    end, { params.title, params.message }),
    '\n'
  )
  if params.options and params.multiple then
    choose_several(params, answer, question)
  elseif params.options then
    vim.ui.select(params.options, { prompt = prompt }, function(choice)
      answer(choice or vim.NIL)
    end)
  else
    vim.ui.input({ prompt = prompt .. ' ', default = params.default or '' }, function(text)
      answer(text or vim.NIL)
    end)
  end
end

---`magent/input`: one text, one option, or several; or a text that is proposed.
function M.input(params, context)
  local proposal = require('magent_lsp.proposal')
  local value = dialogs.ask(params, context.client_id, function(answer, question)
    if proposal.is(params) then
      proposal.begin(params, answer, question)
    else
      ask(params, answer, question)
    end
  end)
  if type(value) == 'string' then
    value = texts.utf8(value)
  end
  return value == vim.NIL and vim.NIL or { value = value }
end

---`magent/eval`: the value of a piece of Lua, which the person has allowed; what is printed comes first.
function M.eval(params)
  local code = params.code
  local chunk, problem = loadstring('return ' .. code, 'magent')
  if not chunk then
    chunk, problem = loadstring(code, 'magent')
  end
  if not chunk then
    return { error = texts.utf8(problem) }
  end
  local printed = {}
  local env = setmetatable({
    print = function(...)
      local parts = vim.tbl_map(tostring, { ... })
      table.insert(printed, table.concat(parts, ' '))
    end,
  }, { __index = _G, __newindex = _G })
  local done, value = pcall(setfenv(chunk, env))
  if not done then
    return { error = texts.utf8(tostring(value)) }
  end
  if value ~= nil or #printed == 0 then
    table.insert(printed, type(value) == 'string' and value or vim.inspect(value))
  end
  return { value = texts.utf8(table.concat(printed, '\n')) }
end

---`window/showDocument`, but never in a window of the conversation.
function M.show_document(err, params, context)
  require('magent_lsp.chat').leave()
  return vim.lsp.handlers['window/showDocument'](err, params, context)
end

local function guarded(handler)
  return function(err, params, context)
    if err then
      return vim.NIL, err
    end
    return handler(params, context)
  end
end

---The handlers of our client.
function M.handlers()
  return {
    ['magent/event'] = function(_, params, context)
      require('magent_lsp.runs').receive(params, context.client_id)
    end,
    ['magent/save'] = guarded(M.save),
    ['magent/input'] = guarded(M.input),
    ['magent/eval'] = guarded(M.eval),
    ['magent/showDiff'] = guarded(function(params)
      return require('magent_lsp.approval').compare(params)
    end),
    ['workspace/applyEdit'] = function(err, params, context)
      return require('magent_lsp.buffers').apply_edit(err, params, context)
    end,
    ['window/showDocument'] = M.show_document,
    ['window/showMessageRequest'] = function(err, params, context)
      return require('magent_lsp.approval').dialog(err, params, context)
    end,
  }
end

return M
