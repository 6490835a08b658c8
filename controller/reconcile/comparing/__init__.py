"""What Salt and Saltern compile for a minion, compared."""
