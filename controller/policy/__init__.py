"""saltern.yaml: what it says, read with places, and what of it holds for a minion now. Pure; knows no store."""
