"""Runs state functions: finds them, evaluates conditions and slots, plans, acts, and plans again."""
