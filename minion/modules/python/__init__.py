"""The execution modules `pip` and `virtualenv`."""
