"""States of what is copied between folders and machines."""
