"""The agent: grains, execution modules, states, and the loop that applies what the controller desires."""
