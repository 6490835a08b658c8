"""`saltern doctor`: checks of a machine that is a controller."""
