"""Drift that a minion puts right by itself while it reaches no controller (docs/policy.md, ADR 30)."""
