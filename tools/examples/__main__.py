"""`make example NAME=drift`: start what an example needs on this machine, and do what its README says."""

from __future__ import annotations

import sys

import click
from page_shell import NotAsWritten
from rig import Failed

from tools import demo
from tools.examples.followed import run_example, runnable
from tools.examples.forges import run_previews


def main(arguments: list[str]) -> int:
    """Run the example that is named; the exit code."""
    names = [*runnable(), "previews", "quickstart"]
    if len(arguments) != 1 or arguments[0] not in names:
        click.echo(f"name one of these: {', '.join(sorted(names))}", err=True)
        return 64
    [name] = arguments
    if name == "quickstart":
        return demo.main()
    try:
        if name == "previews":
            run_previews(click.echo)
        else:
            run_example(name, click.echo)
    except (Failed, NotAsWritten) as error:
        click.echo(f"FAILED {error}", err=True)
        return 1
    except KeyboardInterrupt:
        click.echo("interrupted; what was started is stopped", err=True)
        return 130
    click.echo("All of it happened; everything is cleaned up.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
