"""Verbs that say why a minion is as it is."""
