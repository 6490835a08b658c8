"""Counterparts of `salt.utils.*`, one module for each."""
