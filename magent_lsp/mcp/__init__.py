"""MCP servers: starts them, and makes their tools ours; the only package that knows the `mcp` library."""
