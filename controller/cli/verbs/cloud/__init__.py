"""`saltern cloud`."""
