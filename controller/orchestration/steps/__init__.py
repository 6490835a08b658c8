"""The state functions `salt.*`. Source of their behaviour: salt/states/saltmod.py."""
