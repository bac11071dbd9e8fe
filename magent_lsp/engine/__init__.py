"""The loop, its tasks, its gate and its guards."""
