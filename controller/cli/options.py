"""Options that verbs share. Imports nothing but click."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

_Function = TypeVar("_Function", bound=Callable[..., Any])

DEFAULT_CONFIG_DIR = Path("/etc/saltern")
FORMATS = ("json", "yaml", "txt", "nested")

config_dir = click.option(
    "-c",
    "--config-dir",
    type=click.Path(path_type=Path),
    default=DEFAULT_CONFIG_DIR,
    envvar="SALTERN_CONFIG_DIR",
    show_default=True,
    show_envvar=True,
    help="Folder of the configuration.",
)
out = click.option(
    "--out",
    "--output",
    "out",
    type=click.Choice(["text", "json", "yaml"]),
    default="text",
    show_default=True,
    help="json and yaml give one document.",
)

_TARGETING = (
    ("-E", "--pcre", "pcre", "TARGET is a regular expression."),
    ("-L", "--list", "list", "TARGET is a list with commas."),
    ("-G", "--grain", "grain", "TARGET is grain:glob."),
    ("-P", "--grain-pcre", "grain_pcre", "TARGET is grain:regular expression."),
    ("-I", "--pillar", "pillar", "TARGET is pillar:glob."),
    ("-N", "--nodegroup", "nodegroup", "TARGET is a nodegroup."),
    ("-S", "--ipcidr", "ipcidr", "TARGET is an address or subnet."),
    ("-C", "--compound", "compound", "TARGET mixes these (`G@os:Debian and web*`)."),
)


def targeting(function: _Function) -> _Function:
    """Salt's targeting flags, as one argument `kind` (`glob` when none is given)."""
    for short, long, kind, text in reversed(_TARGETING):
        function = click.option(short, long, "kind", flag_value=kind, default=None, help=text)(function)
    return function
