"""Packages of Haskell."""
