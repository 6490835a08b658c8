"""`saltern docs`: the pages of the documentation, which are installed with the program."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli.failure import FAILED, USAGE, Failure
from options.near_names import did_you_mean

_ROOMS = Path(__file__).parents[4]
_PLACES = (_ROOMS.parent / "docs", _ROOMS / "docs")
"""In what is installed, `saltern/docs` beside `saltern/rooms`; in a checkout, beside the rooms."""


@click.command("docs")
@click.argument("page", metavar="[PAGE]", required=False)
def docs_command(page: str | None) -> None:
    """Print a PAGE of the documentation, as Markdown; without one, list them.

    A PAGE may be written as logs name it: docs/keys.md, keys.md and keys are the same.
    """
    pages = {path.stem: path for path in sorted(_folder().glob("*.md"))}
    if page is None:
        width = max(map(len, pages))
        for name, path in pages.items():
            click.echo(f"{name:{width}}  {_title(path)}")
        return
    name = page.partition("#")[0].removeprefix("docs/").removesuffix(".md")
    if name not in pages:
        hint = did_you_mean(name, pages) or "`saltern docs` lists them"
        raise Failure(f"there is no page {name!r}", USAGE, hint=hint)
    click.echo(pages[name].read_text(encoding="utf-8"), nl=False)


def _folder() -> Path:
    for place in _PLACES:
        if (place / "commands.md").is_file():
            return place
    raise Failure("the documentation is not installed", FAILED, hint="install Saltern's wheel or its packages anew")


def _title(path: Path) -> str:
    """The first heading of a page."""
    with path.open(encoding="utf-8") as file:
        return next((line[2:].strip() for line in file if line.startswith("# ")), "")
