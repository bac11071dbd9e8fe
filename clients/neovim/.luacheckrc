std = "luajit"
max_line_length = 120
read_globals = { "vim" }
globals = { "vim.bo", "vim.wo", "vim.g", "vim.b", "vim.w", "vim.o", "vim.opt", "vim.v" }
