-- The whole configuration that Neovim's own client needs; `vim.lsp.enable('magent_lsp')` switches it on.
-- It works without the rest of this plugin: copy it to `lsp/magent_lsp.lua` in your configuration.
return {
  cmd = { 'magent-lsp', 'serve' },
  root_dir = function(buffer, start) -- what is outside a project belongs to the one you work in
    local marks, here = { '.magent', '.git' }, vim.fn.getcwd()
    start(vim.fs.root(buffer, marks) or vim.fs.root(here, marks) or here)
  end,
}
