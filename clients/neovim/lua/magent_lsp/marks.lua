-- Shows in the text which lines a scoped run works on.
local M = {}

local space = vim.api.nvim_create_namespace('magent_lsp_scope')

-- The mark of a run: buffer and id.
local marks = {}

local function clear(run)
  local mark = marks[run]
  marks[run] = nil
  if mark and vim.api.nvim_buf_is_valid(mark.bufnr) then
    vim.api.nvim_buf_del_extmark(mark.bufnr, space, mark.id)
  end
end

---Lines `first` to before `last`, counted from 0; a mark that is there already moves.
local function show(run, uri, range)
  local bufnr = vim.fn.bufnr(vim.uri_to_fname(uri))
  if bufnr < 0 or not vim.api.nvim_buf_is_loaded(bufnr) then
    return
  end
  local count = vim.api.nvim_buf_line_count(bufnr)
  local first = math.min(range and range.start.line or 0, count - 1)
  local last = range and range['end'].line or count
  if range and range['end'].character > 0 or last <= first then
    last = last + 1
  end
  local mark = marks[run]
  if mark and mark.bufnr ~= bufnr then
    clear(run)
    mark = nil
  end
  local id = vim.api.nvim_buf_set_extmark(bufnr, space, first, 0, {
    id = mark and mark.id or nil,
    end_row = math.min(last, count),
    end_col = 0,
    hl_group = 'MagentScope',
    hl_eol = true,
    priority = 90,
    virt_text = { { ' magent works here', 'MagentScopeText' } },
    virt_text_pos = 'right_align',
    strict = false,
  })
  marks[run] = { bufnr = bufnr, id = id }
end

function M.event(run, event)
  if (event.type == 'run_started' or event.type == 'target_updated') and event.uri and event.range then
    show(run.id, event.uri, event.range)
  elseif event.type == 'run_finished' then
    clear(run.id)
  end
end

return M
