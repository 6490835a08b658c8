"""States of PHP."""
