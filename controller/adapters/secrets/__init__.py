"""Adapters of the language's ports for secrets: GnuPG's keys, and a vault, whose client takes 5 MiB."""
