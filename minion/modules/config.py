"""The execution module `config`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from highstate.traverse import MISSING, traverse
from minion.arguments.types import AnyValue
from minion.execution.arguments import NotSupported
from minion.execution.context import Context


def get(
    context: Context, key: str, default: AnyValue = "", delimiter: str = ":", merge: str | None = None,
    omit_opts: bool = False, omit_pillar: bool = False, omit_master: bool = False, omit_grains: bool = False,
) -> Any:  # fmt: skip
    """A value of the minion's configuration, else of its grains, else of its pillar (Salt's order), or the default.

    With `merge` (recurse or overwrite) what all of them have under this key together.
    """
    if merge is not None:
        return _merged(context, key, default, delimiter, merge)
    for source in _sources(context, omit_opts, omit_grains, omit_pillar, omit_master):
        value = traverse(source, key, MISSING, delimiter=delimiter)
        if value is not MISSING:
            return value
    return default


def option(
    context: Context, value: str, default: AnyValue = None, omit_opts: bool = False, omit_grains: bool = False,
    omit_pillar: bool = False, omit_master: bool = False, omit_all: bool = False, wildcard: bool = False,
) -> Any:  # fmt: skip
    """A value by its whole name, as config.get finds it; with `wildcard` all whose name a glob fits."""
    sources = () if omit_all else _sources(context, omit_opts, omit_grains, omit_pillar, omit_master)
    if wildcard:
        import fnmatch

        found = [{key: one for key, one in source.items() if fnmatch.fnmatch(key, value)} for source in sources]
        return {key: one for each in reversed(found) for key, one in each.items()} or default or {}
    for source in sources:
        if value in source:
            return source[value]
    return "" if default is None else default


def _sources(
    context: Context, omit_opts: bool, omit_grains: bool, omit_pillar: bool, omit_master: bool
) -> Iterator[Mapping[str, Any]]:
    """Where values are looked for, in Salt's order; each is only made when the one before has no answer."""
    if not omit_opts:
        yield {**context.opts, "id": context.minion_id}
    if not omit_grains:
        yield context.grains
    if not omit_pillar:
        yield context.pillar
    if not omit_master and isinstance(context.pillar.get("master"), Mapping):
        yield context.pillar["master"]


def _merged(context: Context, key: str, default: Any, delimiter: str, merge: str) -> Any:
    from minion.execution.language import find

    merge_all = find("slsutil.merge_all")
    assert merge_all is not None  # noqa: S101  (the language has it)
    sources = [*_sources(context, False, False, False, False)][::-1]
    strategy = merge if merge in ("recurse", "overwrite") else "recurse"
    return traverse(merge_all(context, sources, strategy), key, default, delimiter=delimiter)


def items(context: Context) -> dict[str, Any]:
    """The minion's configuration, as its files say it, and where the minion has its files."""
    return dict(context.opts)


def merge(
    context: Context,
    value: str,
    default: AnyValue = "",
    omit_opts: NotSupported = None,
    omit_master: NotSupported = None,
    omit_pillar: NotSupported = None,
) -> Any:
    """A value of the configuration, or the mappings and lists of configuration and pillar under this name together."""
    found = [
        one for name in ("pillar", "opts") if (one := traverse(getattr(context, name), value, MISSING)) is not MISSING
    ]
    if not found:
        return default
    if all(isinstance(one, Mapping) for one in found):
        return {key: inner for one in found for key, inner in one.items()}
    if all(isinstance(one, list) for one in found):
        return [inner for one in found[::-1] for inner in one]
    return found[-1]


def manage_mode(context: Context, mode: str | None) -> str | None:
    """A mode as files have it: four octal digits; null for none."""
    return None if mode is None else mode.removeprefix("0o").lstrip("0").rjust(3, "0").rjust(4, "0")


def valid_fileproto(context: Context, uri: str) -> bool:
    """Whether a source has a scheme that is known: salt, file, http, https or ftp."""
    return uri.partition("://")[0] in ("salt", "file", "http", "https", "ftp") and "://" in uri


def backup_mode(context: Context, backup: str = "") -> str:
    """How replaced files are kept: as given, or as configured."""
    return backup or str(option(context, "backup_mode"))


FUNCTIONS: Mapping[str, Any] = {
    "backup_mode": backup_mode,
    "get": get,
    "items": items,
    "manage_mode": manage_mode,
    "merge": merge,
    "option": option,
    "valid_fileproto": valid_fileproto,
}
