"""How revisions go to the fleet: policies, rollouts, rollbacks."""
