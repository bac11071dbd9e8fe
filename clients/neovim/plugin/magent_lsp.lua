-- Only the command, so that nothing is loaded before it is used; `require('magent_lsp').setup()` does the rest.
if vim.g.loaded_magent_lsp then
  return
end
vim.g.loaded_magent_lsp = true

vim.api.nvim_create_user_command('Magent', function(arguments)
  require('magent_lsp.command').run(arguments)
end, {
  nargs = '*',
  range = true,
  bang = true,
  desc = 'The magent agent',
  complete = function(lead, line)
    return require('magent_lsp.command').complete(lead, line)
  end,
})
