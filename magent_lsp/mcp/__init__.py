"""The Model Context Protocol, both ways."""
