"""A Docker engine, as the states and execution functions of containers ask and tell it by its API."""
