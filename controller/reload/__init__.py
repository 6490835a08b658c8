"""Reloads of the configuration of a controller that runs."""
