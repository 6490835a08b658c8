"""Salt's own integration tests of minions, with a controller and the gateway in the place of the salt-master."""
