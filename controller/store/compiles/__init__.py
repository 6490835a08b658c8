"""What compiles gave: documents, which of them each minion shall have, and what they stand on."""
