"""Rollouts, and revisions that were taken back."""
