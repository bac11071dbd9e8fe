"""One file a tool; each reads or proposes, none acts."""
