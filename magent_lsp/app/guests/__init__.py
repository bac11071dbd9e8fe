"""Agents of other programs, which use the editor of a running server through `magent-lsp mcp`."""
