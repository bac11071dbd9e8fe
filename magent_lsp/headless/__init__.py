"""The agent without an editor: the disk and a terminal."""
