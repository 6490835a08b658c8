"""`saltern migrate`: from Salt."""
