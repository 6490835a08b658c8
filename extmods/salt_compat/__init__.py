"""Counterparts of Salt's helpers for user modules, one module each; served by `extmods.salt_compat.finder`.

Names and arguments are those that user modules know (doc/ref/..., module index of Salt); nothing else here uses them.
"""
