"""The edge to language clients; the only place that knows pygls and UTF-16."""
