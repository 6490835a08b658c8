"""Options that verbs share. Imports nothing but click."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

_Function = TypeVar("_Function", bound=Callable[..., Any])

SCHEMA_VERSION = 1
"""Of the documents that verbs print. A field that is new does not change it; one that is gone, has another name or
means something else does, and stands in CHANGELOG.md."""
DEFAULT_CONFIG_DIR = Path("/etc/saltern")
FORMATS = ("json", "yaml", "txt", "nested")

_FOLDER = click.Path(path_type=Path, readable=False)
"""Users whom the controller lets in need not be able to read its configuration (`configuration.socket_of`)."""
config_dir = click.option(
    "-c",
    "--config-dir",
    type=_FOLDER,
    default=DEFAULT_CONFIG_DIR,
    envvar="SALTERN_CONFIG_DIR",
    show_default=True,
    show_envvar=True,
    help="Folder of the configuration.",
)
config_dir_of_verb = click.option("-c", "--config-dir", type=_FOLDER, help="Folder of the configuration.")
"""Of a verb in a group. No environment variable: it would win over what stands before the verb (`key -c DIR list`)."""
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
    ("-L", "--list", "list", "TARGET is a list with commas or spaces."),
    ("-G", "--grain", "grain", "TARGET is grain:glob."),
    ("-P", "--grain-pcre", "grain_pcre", "TARGET is grain:regular expression."),
    ("-I", "--pillar", "pillar", "TARGET is pillar:glob."),
    ("-J", "--pillar-pcre", "pillar_pcre", "TARGET is pillar:regular expression."),
    ("-N", "--nodegroup", "nodegroup", "TARGET is a nodegroup."),
    ("-S", "--ipcidr", "ipcidr", "TARGET is an address or subnet."),
    ("-R", "--range", "range", "TARGET is a range, which the range server knows."),
    ("-C", "--compound", "compound", "TARGET mixes these (`G@os:Debian and web*`)."),
)


def optional_number(name: str, default: str) -> type[click.Command]:
    """A command whose option may have a number behind it, or none.

    click takes whatever stands behind such an option as its value, so `--watch 'web*'` would have no TARGET.
    """

    class WithOptionalNumber(click.Command):
        def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
            place = args.index(name) if name in args else -1
            if place >= 0 and "--" not in args[:place]:
                following = args[place + 1] if place + 1 < len(args) else ""
                if not _is_number(following):
                    args = [*args[:place], f"{name}={default}", *args[place + 1 :]]
            return super().parse_args(ctx, args)

    return WithOptionalNumber


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


_DELIMITED = {"grain": "G", "grain_pcre": "P", "pillar": "I", "pillar_pcre": "J"}
"""Kinds of targets with levels, as compound targets have them: `G/@os/Debian`."""


def delimited(target: str, kind: str, delimiter: str) -> tuple[str, str]:
    """The target and its kind, where something else than a colon stands between levels (`--delimiter`)."""
    if delimiter == ":" or kind not in _DELIMITED:
        return target, kind
    if len(delimiter) != 1 or delimiter.isalnum() or delimiter.isspace() or delimiter in "@()":
        raise click.UsageError(f"--delimiter is one character that is no letter, digit or space, not {delimiter!r}")
    if set(target) & set(" ()"):
        raise click.UsageError("with --delimiter, a target has no spaces and no parentheses")
    return f"{_DELIMITED[kind]}{delimiter}@{target}", "compound"


def targeting(function: _Function) -> _Function:
    """Salt's targeting flags, as one argument `kind` (None when none is given); two of them are a usage error."""
    return _targeting(function, frozenset())


def targeting_without_list(function: _Function) -> _Function:
    """The same where `--list` means something else: a list of minions is `-L` alone."""
    return _targeting(function, frozenset(("--list",)))


def _targeting(function: _Function, without: frozenset[str]) -> _Function:
    @wraps(function)
    def with_kind(**values: Any) -> Any:
        given = [(kind, short) for short, _, kind, _ in _TARGETING if values.pop(f"kind_{kind}")]
        if len(given) > 1:
            named = " and ".join(short for _, short in given)
            raise click.UsageError(f"{named} cannot go together: a TARGET is of one kind; -C mixes several")
        kind = given[0][0] if given else None
        if kind == "list" and isinstance(values.get("target"), str):
            values["target"] = ",".join(values["target"].replace(",", " ").split())
        return function(**values, kind=kind)

    decorated: Any = with_kind
    for short, long, kind, text in reversed(_TARGETING):
        names = [short, *({long} - without)]
        decorated = click.option(*names, f"kind_{kind}", is_flag=True, help=text)(decorated)
    return cast(_Function, decorated)
