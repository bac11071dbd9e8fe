-- A text that the agent proposes, in a buffer where the person may change it before they take it.
local client = require('magent_lsp.client')
local config = require('magent_lsp.config')
local quiet = require('magent_lsp.quiet')

local M = {}

local count = 0

---Whether a `magent/input` proposes a text, and does not merely ask for one.
function M.is(params)
  local text = params.default
  if not text or params.multiple or vim.list_contains(params.options or {}, text) then
    return false
  end
  return text == params.message or text:find('\n') ~= nil
end

local function buffer_of(params)
  count = count + 1
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(bufnr, ('magent://proposal/%d'):format(count))
  -- Undo must not go back to before the text.
  vim.bo[bufnr].undolevels = -1
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, vim.split(params.default, '\n'))
  vim.bo[bufnr].undolevels = vim.go.undolevels
  vim.bo[bufnr].bufhidden, vim.bo[bufnr].filetype = 'hide', 'magentproposal'
  return bufnr
end

local function set_winbar(window, text)
  vim.wo[window][0].winbar = (' ' .. text:gsub('%s+', ' ')):gsub('%%', '%%%%')
end

---Shows a buffer in a window of its own, with the cursor; `says` stands above it.
local function show(bufnr, says)
  local window = vim.fn.win_findbuf(bufnr)[1]
  if window then
    return vim.api.nvim_set_current_win(window)
  end
  local height = math.min(vim.api.nvim_buf_line_count(bufnr) + 2, math.floor(vim.o.lines / 2))
  vim.cmd('botright new')
  local unused = vim.api.nvim_get_current_buf()
  window = vim.api.nvim_get_current_win()
  vim.wo[window][0].winfixbuf = false
  vim.api.nvim_win_set_buf(window, bufnr)
  vim.api.nvim_buf_delete(unused, { force = true })
  vim.api.nvim_win_set_height(window, height)
  vim.wo[window][0].wrap, vim.wo[window][0].linebreak = true, true
  set_winbar(window, says)
end

---Shows the text of a `magent/input`; `answer(value)` gets what it has become, or the option that refuses.
function M.begin(params, answer, question)
  local keys, bufnr = config.current.proposal.keys, buffer_of(params)
  local title = params.message ~= params.default and params.message ~= '' and params.message or params.title
  local settled = false
  local function settle(value)
    settled = true
    vim.cmd.stopinsert()
    vim.api.nvim_buf_delete(bufnr, { force = true })
    answer(value)
  end
  local function accept()
    if not quiet.meant(question.came) then
      return
    end
    local text = table.concat(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false), '\n')
    if vim.trim(text) == '' then
      return client.say(('There is no text; %s refuses.'):format(keys.reject), 'WARN')
    end
    settle(text)
  end
  local function reject()
    if quiet.meant(question.came) then
      settle(params.options and params.options[#params.options] or vim.NIL)
    end
  end
  vim.keymap.set(
    { 'n', 'i' },
    keys.accept,
    accept,
    { buffer = bufnr, nowait = true, desc = 'Take this text' }
  )
  vim.keymap.set('n', keys.reject, reject, { buffer = bufnr, nowait = true, desc = 'Refuse it' })
  question.show = function()
    show(bufnr, ('%s: %s takes the text as it is here, %s refuses'):format(title, keys.accept, keys.reject))
  end
  question.shown = function()
    return vim.iter(vim.api.nvim_tabpage_list_wins(0)):any(function(window)
      return vim.api.nvim_win_get_buf(window) == bufnr
    end)
  end
  question.ended = function()
    if settled then
      return
    end
    settled = true
    vim.keymap.del({ 'n', 'i' }, keys.accept, { buffer = bufnr })
    vim.keymap.del('n', keys.reject, { buffer = bufnr })
    vim.bo[bufnr].buflisted = true
    for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
      set_winbar(window, ('%s: the run has ended; nobody waits for this text'):format(title))
    end
    client.say(
      ('The run has ended; its proposal is kept in the buffer %s.'):format(vim.fn.bufname(bufnr)),
      'WARN'
    )
  end
  vim.api.nvim_create_autocmd('BufUnload', {
    buffer = bufnr,
    once = true,
    callback = function()
      if not settled then
        settled = true
        answer(vim.NIL)
      end
    end,
  })
  question.show()
end

return M
