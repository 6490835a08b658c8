"""`saltern key`."""
