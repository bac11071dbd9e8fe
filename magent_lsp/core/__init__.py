"""Pure values and decisions: no I/O, no tasks, no clock."""
