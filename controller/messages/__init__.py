"""Messages of minions: held back when too many come, handled in batches, acknowledged when they are stored."""
