"""Function calls on minions, and the targets that choose minions."""
