"""The permission engine: a pure function of rules, scope and call to a verdict and its reason.

`judge.judge` is the entry; `rules` are what people write, `layers` decide between them, `shell` and its
tables say what a command line would do. Nothing here reads a file, waits or looks at a clock: links are
resolved by a function that the caller hands in.
"""
