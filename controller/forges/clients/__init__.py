"""Adapters of the port to forges, a module a forge."""
