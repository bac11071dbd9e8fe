-- `:checkhealth magent_lsp`
local M = {}

local function version_of(command)
  local done, result = pcall(function()
    return vim.system({ command, '--version' }, { text = true }):wait(10000)
  end)
  return done and result.code == 0 and vim.trim(result.stdout) or nil
end

local function check_server(client)
  local command = client.config(0).cmd
  local program = type(command) == 'table' and command[1] or nil
  if not program then
    return vim.health.info('The server is reached by a function of your own.')
  end
  if vim.fn.executable(program) == 0 then
    return vim.health.error(('`%s` is not in the PATH of this Neovim.'):format(program), {
      "Install it: `pipx install '.[rg]'` in a checkout of its repository; its README has more.",
      "Or name it: `require('magent_lsp').setup{ cmd = { '/path/to/magent-lsp', 'serve' } }`.",
    })
  end
  local version = version_of(program)
  if version then
    vim.health.ok(('%s (`%s`)'):format(version, vim.fn.exepath(program)))
  else
    vim.health.warn(('`%s --version` did not answer; is it magent-lsp?'):format(program))
  end
end

local function check_clients(client)
  local clients = vim.lsp.get_clients({ name = client.name })
  if #clients == 0 then
    vim.health.info('The server does not run; it starts with the first file, or with `:Magent`.')
  end
  for _, found in ipairs(clients) do
    local buffers = vim.tbl_count(found.attached_buffers)
    local what = buffers == 1 and '1 buffer' or buffers .. ' buffers'
    vim.health.ok(('It runs for `%s`, %s.'):format(found.config.root_dir or 'no folder', what))
  end
end

local function ask_server(client, found)
  local result
  client.execute('status', {}, function(answer)
    result = answer
  end, { client = found.id, failed = function() end })
  vim.wait(5000, function()
    return result ~= nil
  end, 20)
  if not result then
    return vim.health.warn('The server did not answer within 5 s; `:LspLog` may say why.')
  end
  local where = #vim.lsp.get_clients({ name = client.name }) > 1 and found.config.root_dir
  local of = where and (' (`%s`)'):format(where) or ''
  vim.health.ok(('model %s, agent %s%s'):format(result.model, result.agent, of))
  for _, problem in ipairs(result.problems) do
    vim.health.warn(problem.message)
  end
  vim.health.info('`:Magent doctor` says more: keys, whether the model can be reached, ripgrep, trust.')
end

function M.check()
  local client = require('magent_lsp.client')
  vim.health.start('magent_lsp: Neovim')
  if vim.fn.has('nvim-0.11') == 1 then
    vim.health.ok('Neovim ' .. tostring(vim.version()))
  elseif vim.fn.has('nvim-0.10') == 1 then
    vim.health.ok(('Neovim %s; 0.11 brings `vim.lsp.enable`'):format(tostring(vim.version())))
  else
    vim.health.error('Neovim 0.10 or newer is needed.')
    return
  end
  vim.health.start('magent_lsp: server')
  check_server(client)
  check_clients(client)
  for _, found in ipairs(vim.lsp.get_clients({ name = client.name })) do
    if found.initialized then
      ask_server(client, found)
    end
  end
end

return M
