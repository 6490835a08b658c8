"""The controller's own schedule: runners, and functions on minions, at times."""
