"""The kinds of forges, a module each: the client of its API, its webhooks, addresses and options, as `FORGE`."""
