"""Forges: how each of them is asked, authenticates a webhook, identifies a delivery and names the repository.

A kind of forge is a module of `controller.forges.kinds` with `FORGE`. Nothing that a payload names is fetched: it is
only compared with the remotes that are configured.
"""
