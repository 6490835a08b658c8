"""Runs: one by one, and those of the many minions of a call together."""
