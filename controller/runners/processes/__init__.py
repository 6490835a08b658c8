"""Processes in which runners of a tree and execution functions run: never in the controller's own."""
