"""Who gets what: matching of minions, top files, external tops."""
