"""Rollouts: a push goes to the fleet in batches, as the key `rollout` of saltern.yaml says, and can be taken back."""
