"""The execution modules `user`, `group`, `shadow` and `ssh`."""
