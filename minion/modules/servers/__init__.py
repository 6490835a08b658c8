"""Execution modules of servers: web, messages, proxies."""
