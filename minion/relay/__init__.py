"""`saltern relay`: the process of a relay, and its configuration."""
