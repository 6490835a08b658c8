"""States of the network: interfaces, routes, global settings."""
