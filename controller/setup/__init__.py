"""`saltern init`: a controller on this machine, from nothing."""
