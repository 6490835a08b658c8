"""States that send messages to people."""
