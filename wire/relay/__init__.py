"""The relay: carries sealed frames between minions and their controller, and can read none of them."""
