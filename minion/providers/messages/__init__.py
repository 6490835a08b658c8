"""Services that take messages."""
