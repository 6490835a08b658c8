"""Top files, and what external sources add to them (Salt's `master_tops`)."""
