"""The state module `file`, one module for each function or family of functions; `state` has the table."""
