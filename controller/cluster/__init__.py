"""Controllers of one database: those that wait pass minions, people and hooks on to the one that leads."""
