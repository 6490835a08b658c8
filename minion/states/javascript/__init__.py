"""States of JavaScript."""
