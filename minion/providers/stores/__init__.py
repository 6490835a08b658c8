"""Servers that keep values by keys, and SQLite files, as states and execution functions ask and change them."""
