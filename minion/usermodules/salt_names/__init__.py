"""Counterparts of Salt's helpers for user modules, one module each; served by `minion.usermodules.face`.

Names and arguments are those that user modules know (doc/ref/..., module index of Salt); nothing else here uses them.
"""
