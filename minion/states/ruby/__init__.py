"""States of Ruby."""
