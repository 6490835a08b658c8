"""Recorded reads, and the results that are found again by them."""
