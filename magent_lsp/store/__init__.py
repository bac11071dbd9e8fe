"""Files that users own, and our own state on disk."""
