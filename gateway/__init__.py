"""`saltern gateway`: stock salt-minions, driven by a controller that does not speak Salt's protocol."""
