"""PostgreSQL: how a server is asked and told, and what states and execution functions know of its catalog."""
