"""Targeting: which minions an expression matches."""
