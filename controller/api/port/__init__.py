"""The API over the network: TLS, who may ask how often, and what else is served there."""
