"""Beacons: what a minion watches of its machine, one module a beacon. `host` runs them, in a process of the agent's."""
