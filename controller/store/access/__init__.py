"""Tokens of people, and what was decided about their requests."""
