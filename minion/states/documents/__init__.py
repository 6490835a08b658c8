"""States of documents that have a structure."""
