"""The machine's own tools behind ports: package managers, service managers, accounts.

Called by the pkg, service, user and group states and execution functions. A provider looks through a `Reader` and acts
through a `Machine` only, so that whatever has no `Machine` cannot change anything.
"""
