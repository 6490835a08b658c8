"""Opens the trees for verbs that look into them: straight from the mirrors on disk, without a controller."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from controller.cli.configuration import settings_of
from controller.cli.failure import USAGE, Failure

if TYPE_CHECKING:
    from gitfs.source import Source
    from gitfs.tree.snapshot import Snapshot


@contextlib.contextmanager
def source_of(config_dir: Path) -> Iterator[Source]:
    """The source of a configuration."""
    from controller.compilation.sources import open_source
    from gitfs.errors import GitfsError

    settings = settings_of(config_dir, whole=True)
    try:
        with open_source(settings) as source:
            yield source
    except GitfsError as error:
        raise Failure(str(error)) from None
    except PermissionError as error:
        raise Failure(f"{error.filename} cannot be read", hint="the mirrors belong to the controller's user") from None


@contextlib.contextmanager
def snapshot_of(config_dir: Path, *, rev: str | None, pillar: bool) -> Iterator[Snapshot]:
    """The files (or the pillar) that are live, or those of a revision."""
    from gitfs.errors import UnknownRef

    with source_of(config_dir) as source:
        try:
            trees = source.live() if rev is None else source.at(rev)
        except UnknownRef as error:
            raise Failure(str(error), hint="`saltern remote show NAME` lists what is fetched") from None
        if trees.missing:
            raise Failure(
                f"nothing was fetched of {', '.join(trees.missing)}", hint="`saltern remote check` asks the remotes"
            )
        yield trees.pillar if pillar else trees.files


def parse_path(text: str, saltenv: str | None) -> tuple[str, str]:
    """(path, saltenv) of `path`, `salt://path`, `salt://path?saltenv=x` or `salt://|path`, which is taken as it is."""
    path = text.removeprefix("salt://")
    if path.startswith("|"):
        return path[1:], saltenv or "base"
    path, question, query = path.partition("?saltenv=")
    if question and saltenv and query != saltenv:
        raise Failure(f"{text} names saltenv {query}, and --env names {saltenv}", USAGE)
    return path, saltenv or query or "base"
