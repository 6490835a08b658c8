"""The state modules `pip` and `virtualenv`."""
