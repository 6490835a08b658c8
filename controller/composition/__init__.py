"""The composition root: every part of a controller is made and wired here, without a framework.

Nothing is started here. A part gets what it needs as an argument, and parts that know each other both ways are attached
at the end.
"""
