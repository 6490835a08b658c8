"""Execution modules of Haskell."""
