-- The whole configuration that Neovim's own client needs; `vim.lsp.enable('magent_lsp')` switches it on.
-- It works without the rest of this plugin: copy it to `lsp/magent_lsp.lua` in your configuration.
return {
  cmd = { 'magent-lsp', 'serve' },
  root_markers = { '.magent', '.git' },
}
