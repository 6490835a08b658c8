"""Orchestration: SLS whose states are steps on minions and on the controller. A restart goes on with them."""
