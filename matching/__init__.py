"""Patterns that somebody wrote - globs and regular expressions - compared with texts, with a bound that holds."""
