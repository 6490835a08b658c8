"""Adapters of the language's ports: secrets, external pillars and tops, sdb, the administrator's own modules."""
