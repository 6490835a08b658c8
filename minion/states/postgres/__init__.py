"""States of PostgreSQL: roles, databases and what is in them, clusters."""
