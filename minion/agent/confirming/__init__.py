"""A minion that reaches no controller goes back from what nobody confirmed (docs/policy.md, ADR 35)."""
