"""Machines of clouds, by Salt's files of providers, profiles and maps: `saltern cloud`.

It runs in the process of the verb, beside the controller, and asks it by its API: accounts and ssh make one wait.
"""
