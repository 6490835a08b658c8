"""What the options of `saltern compile` and `saltern lint` name, read: folders, files, git trees, minion options.

What is wrong with them is a usage error or a Failure that says which option it is. It compiles nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from controller.cli.failure import FAILED, Failure

if TYPE_CHECKING:
    from gitfs.tree.git_layer import GitLayer
    from highstate.compile import CompileOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The options as they were given."""

    file_roots: Sequence[str] = ()
    pillar_roots: Sequence[str] = ()
    git: Sequence[str] = ()
    pillar_git: Sequence[str] = ()
    pillar_file: Path | None = None
    grains: Path | None = None
    facts: Path | None = None
    minion_id: str = ""
    saltenv: str | None = None
    named: Sequence[str] = ()
    highstate: bool = False
    opts: Sequence[str] = ()
    show: str = "lowstate"
    check_files: bool = False
    config_dir: Path | None = None


def language_of(options: CompileOptions) -> dict[str, Any]:
    """The minion options of a case that have the effect of these."""
    from highstate.compile import CompileOptions

    plain = CompileOptions()
    changed = {
        each.name: value
        for each in fields(options)
        if (value := getattr(options, each.name)) != getattr(plain, each.name)
    }
    changed |= changed.pop("opts", {})
    return {name: list(value) if isinstance(value, tuple) else value for name, value in changed.items()}


def roots_of(given: Sequence[str]) -> dict[str, list[str]]:
    """Environment -> folders, all of which are there."""
    from controller.offline.trees import environment_of

    roots: dict[str, list[str]] = {}
    for text in given:
        saltenv, folder = environment_of(text)
        if not Path(folder).is_dir():
            raise click.UsageError(f"{folder} is no folder")
        roots.setdefault(saltenv, []).append(str(Path(folder).absolute()))
    return roots


def git_layers(given: Sequence[str], mirrors: Path) -> list[tuple[str, GitLayer]]:
    """The trees of git remotes, fetched into `mirrors`."""
    from controller.offline.trees import GitTree, TreeUnavailable, fetch_layers

    try:
        trees = [GitTree.parse(text) for text in given]
    except TreeUnavailable as error:
        raise click.UsageError(str(error)) from None
    try:
        return fetch_layers(trees, mirrors)
    except TreeUnavailable as error:
        raise Failure(str(error), FAILED) from None


def mapping_of(path: Path | None, what: str) -> dict[str, Any]:
    """A file with a mapping."""
    data = {} if path is None else read_data(path)
    if data is not None and not isinstance(data, dict):
        raise Failure(f"{path} must hold a mapping of {what}, not a {type(data).__name__}", FAILED)
    return data or {}


def facts_of(path: Path | None) -> list[Any]:
    """A file with a list of recorded answers."""
    data = [] if path is None else read_data(path)
    if data is not None and not isinstance(data, list):
        raise Failure(f"{path} must hold a list of answers, not a {type(data).__name__}", FAILED)
    return data or []


def options_of(given: Sequence[str]) -> dict[str, Any]:
    """Minion options as `NAME=YAML`."""
    options: dict[str, Any] = {}
    for text in given:
        name, found, value = text.partition("=")
        if not found or not name:
            raise click.UsageError(f"--opt {text!r}: write NAME=VALUE, as in state_auto_order=false")
        options[name.strip()] = _parsed(value, f"--opt {name}")
    return options


def read_data(path: Path) -> Any:
    """A YAML or JSON file; Failure with line and column when it is neither."""
    try:
        return _parsed(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror}", FAILED) from None
    except UnicodeDecodeError as error:
        raise Failure(f"{path} is not UTF-8: {error}", FAILED) from None


def _parsed(text: str, what: str) -> Any:
    """Salt's YAML, which JSON is a part of; bounded, since the file may be anybody's."""
    import yaml

    from highstate.data_limits import unbounded
    from highstate.render.yaml.loader import load_yaml

    try:
        data = _json_or(load_yaml, text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise Failure(f"{what} is not YAML or JSON: {error}", FAILED) from None
    if why := unbounded(data):
        raise Failure(f"{what} {why}", FAILED)
    return data


def _json_or(load: Callable[[str], Any], text: str) -> Any:
    """JSON is tried first: YAML reads some of it (a tab, a long key) otherwise or not at all."""
    try:
        return json.loads(text)
    except ValueError:
        return load(text)
