"""Opens the trees for verbs that look into them: straight from the mirrors on disk, without a controller."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from controller.cli.configuration import settings_of
from controller.cli.failure import USAGE, Failure

if TYPE_CHECKING:
    from gitfs.source import Source
    from gitfs.tree.git_layer import GitLayer
    from gitfs.tree.snapshot import Snapshot

FETCH_SECONDS = 600.0
"""Until all remotes must have come."""


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
        raise Failure(error.for_operator) from None
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


Layers: TypeAlias = "list[tuple[str, GitLayer]]"
"""(environment, layer) of each."""


@contextlib.contextmanager
def configured_layers(config_dir: Path) -> Iterator[tuple[Layers, Layers]]:
    """Layers of states and of pillar that the remotes of a configuration give: what is live, by the mirrors on disk.

    Where these cannot be read, or nothing was fetched of a remote, all are fetched into a folder that goes afterwards.
    """
    from controller.compilation.sources import open_source
    from gitfs.errors import FetchFailed, GitfsError

    settings = settings_of(config_dir, whole=True)
    try:
        with contextlib.suppress(PermissionError), open_source(settings) as source:
            trees = source.live()
            if not trees.missing:
                yield _layers_of(trees.files), _layers_of(trees.pillar)
                return
        with (
            tempfile.TemporaryDirectory(prefix="saltern-trees-") as folder,
            open_source(replace(settings, cachedir=Path(folder))) as source,
        ):
            for outcome in source.fetch(patience=FETCH_SECONDS):
                if isinstance(outcome, FetchFailed):
                    raise Failure(f"remote {outcome.remote} cannot be fetched: {outcome.reason}")
            trees = source.live()
            yield _layers_of(trees.files), _layers_of(trees.pillar)
    except GitfsError as error:
        raise Failure(error.for_operator) from None


def _layers_of(tree: Snapshot) -> Layers:
    from gitfs.tree.git_layer import GitLayer

    return [
        (saltenv, layer)
        for saltenv, layers in tree.environments.items()
        for layer in layers
        if isinstance(layer, GitLayer)
    ]


def parse_path(text: str, saltenv: str | None) -> tuple[str, str]:
    """(path, saltenv) of `path`, `salt://path`, `salt://path?saltenv=x` or `salt://|path`, which is taken as it is."""
    path = text.removeprefix("salt://")
    if path.startswith("|"):
        return path[1:], saltenv or "base"
    path, question, query = path.partition("?saltenv=")
    if question and saltenv and query != saltenv:
        raise Failure(f"{text} names saltenv {query}, and --env names {saltenv}", USAGE)
    return path, saltenv or query or "base"
