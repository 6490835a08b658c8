"""States of machines of clouds."""
