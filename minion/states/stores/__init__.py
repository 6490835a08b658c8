"""State modules of servers that keep values by keys, and of SQLite files."""
