"""Rules and verdicts, as pure functions: nothing here reads, runs or asks."""
