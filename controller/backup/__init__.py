"""Backups of a controller: its store as one SQLite file, its keys and its configuration, in one archive."""
