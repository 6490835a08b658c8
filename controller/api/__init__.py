"""The HTTP API: `serve` puts it up. The admin API is for the command line, the public one for forges and Prometheus."""

from controller.api.serving import CannotListen, Listening, serve

__all__ = ["CannotListen", "Listening", "serve"]
