"""An agent that a controller starts over ssh, for a visit, and that reaches it through the ssh session."""
