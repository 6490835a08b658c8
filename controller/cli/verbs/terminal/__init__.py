"""Verbs about the terminal: what is drawn on it, what shells complete, what programs read."""
