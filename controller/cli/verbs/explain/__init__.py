"""Verbs that say why a minion is as it is, and take over what it is."""
