"""Functions that shells offer: apart from `controller.cli.offers`, since `saltern call` needs no controller."""

from __future__ import annotations

import click


def functions(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Execution functions: the names of modules first, so that the module that is meant is imported alone."""
    from minion.execution.loader import MODULES, names_in

    module, dot, _ = incomplete.partition(".")
    found = [name for name in MODULES if (name == module if dot else name.startswith(module))]
    if len(found) != 1:
        return [f"{name}." for name in found]
    return [
        name for name in (f"{found[0]}.{each}" for each in sorted(names_in(found[0]))) if name.startswith(incomplete)
    ]
