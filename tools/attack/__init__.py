"""Attacks on a running controller, and what its honest minions saw meanwhile: `make attack`."""
