"""Grains: what a machine says of itself, under Salt's names.

Called by the agent (in a child of its own) and by `saltern call`. Each source is one module with plain functions;
psutil is imported while collecting, since an idle agent has no use for it. Nothing here changes the machine.
"""

from minion.grains.collect import collect

__all__ = ["collect"]
