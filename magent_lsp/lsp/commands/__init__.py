"""What `workspace/executeCommand` offers, by theme."""
