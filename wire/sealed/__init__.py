"""Sessions between a minion and its controller that a relay carries and cannot read: handshake, sealed pieces."""
