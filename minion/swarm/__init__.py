"""Simulated minions for load tests: real keys and the real protocol, and nothing that touches a machine."""
