"""One compile as data: a line of a batch file, or what the options of `saltern compile` come to.

Parsed once here; what does not make sense is a `BadCase` that says what to write. Called by `batch` and by the
command; it compiles nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal

import msgspec

from highstate.compile import CompileOptions
from highstate.types import Value
from options.near_names import did_you_mean

Show = Literal["lowstate", "highstate", "pillar", "top", "sls", "reads"]
SHOWS: tuple[Show, ...] = ("lowstate", "highstate", "pillar", "top", "sls", "reads")

Roots = dict[str, list[str] | str]


class BadCase(Exception):
    """A case that cannot be compiled as it is written; the text says where and what to write."""


class RecordedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a function of the live machine gave when it was asked."""

    fun: str
    args: list[Value] = []
    kwargs: dict[str, Value] = {}
    ret: Value = None


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """What to compile, for whom, and what to show of it."""

    id: Value = None
    """Given back with the answer, whatever it is."""
    file_roots: Roots = {}
    pillar_roots: Roots = {}
    pillar: dict[str, Value] | None = None
    """Laid over the pillar as the command line of Salt does (`pillar='{...}'`)."""
    grains: dict[str, Value] | None = None
    minion_id: str = ""
    """Empty: the grain `id`, or `minion`."""
    saltenv: str | None = None
    sls: list[str] | str | None = None
    highstate: bool = False
    opts: dict[str, Value] | None = None
    """Salt's minion options."""
    facts: list[RecordedAnswer] = []
    show: Show = "lowstate"
    check_files: bool = False
    """Render the templates of managed files too, as the controller does before a tree goes live."""

    @property
    def minion(self) -> str:
        """Id of the minion."""
        return self.minion_id or str((self.grains or {}).get("id") or "minion")

    @property
    def names(self) -> tuple[str, ...]:
        """The SLS that are asked for; none: what the top file gives."""
        given = self.sls.split(",") if isinstance(self.sls, str) else self.sls or []
        return tuple(name.strip() for name in given if name.strip())

    def roots(self, kind: Literal["file", "pillar"]) -> dict[str, list[str]]:
        """Environment -> folders."""
        given = self.file_roots if kind == "file" else self.pillar_roots
        return {env: [folders] if isinstance(folders, str) else folders for env, folders in given.items()}

    def settings(self) -> CompileOptions:
        """The options that shape the compile; templates see all of `opts`. BadCase for a value of another kind."""
        given = {name: _usual(name, value) for name, value in (self.opts or {}).items() if name in _PARSED}
        given = {name: value for name, value in given.items() if value is not None}
        if self.saltenv:
            given["saltenv"] = self.saltenv
        elif self.names:
            given.setdefault("saltenv", "base")
        if given.get("saltenv") and (self.opts or {}).get("pillarenv_from_saltenv"):
            given.setdefault("pillarenv", given["saltenv"])
        for name, value in given.items():
            if not _PARSED[name](value):
                raise BadCase(f"opts: {name} cannot be {value!r}; it is {_KINDS[_PARSED[name]]}")
        tuples: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
        }
        # What templates see comes from the fields above, so it is not given twice.
        rest = {name: value for name, value in (self.opts or {}).items() if name not in given}
        return CompileOptions(**tuples, opts=rest)


def parse_case(data: Mapping[str, Value]) -> tuple[Case, list[str]]:
    """A case from its keys, and remarks about keys that mean nothing; BadCase when it makes no sense."""
    try:
        case = msgspec.convert({key: value for key, value in data.items() if value is not None}, Case, strict=True)
    except (msgspec.ValidationError, RecursionError) as error:
        raise BadCase(_readable(str(error), data)) from None
    for kind in ("file", "pillar"):
        for env, folders in case.roots(kind).items():
            if not env or any("\0" in folder for folder in folders):
                raise BadCase(f"{kind}_roots: {env!r}: {folders!r} is no environment with its folders")
    if case.names and case.highstate:
        raise BadCase("give either `sls` or `highstate`, not both")
    known = [field.name for field in msgspec.structs.fields(Case)]
    return case, [_unknown(key, known) for key in data if key not in known]


def id_of(line: str | bytes) -> Value:
    """The `id` of a line that is not (or not yet) understood; None when there is none to be read."""
    try:
        return msgspec.convert(msgspec.json.decode(line), dict[str, Value]).get("id")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _unknown(key: str, known: list[str]) -> str:
    meant = did_you_mean(key, known, quote="'")
    return f"the key {key!r} means nothing" + (f"; {meant}" if meant else "")


def _readable(error: str, data: Mapping[str, Value]) -> str:
    """msgspec's `Expected `int`, got `str` - at `$.key`` with the place as people write it."""
    if "Invalid enum value" in error:
        return f"show: {data.get('show')!r} is none of {', '.join(SHOWS)}"
    text, _, place = error.partition(" - at `$")
    place = place.strip("`.").removeprefix(".")
    return f"{place}: {text}" if place else text


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


_KINDS = {
    _is_text: "a string",
    _is_flag: "true or false",
    _are_texts: "a list of strings",
    _is_list: "a list",
    _is_mapping: "a mapping",
}
_BY_DEFAULT = {str: _is_text, bool: _is_flag, tuple: _are_texts, dict: _is_mapping}


_ENTRIES = frozenset(("ext_pillar", "decrypt_pillar"))
"""Lists of other things than names."""


def _usual(name: str, value: Value) -> Value:
    """Salt takes false for no environment, and one name for a list of one."""
    if _PARSED[name] is _is_text and value in (False, ""):
        return None
    return [value] if _PARSED[name] is _are_texts and isinstance(value, str) and value else value


def _checks() -> dict[str, Any]:
    """Option -> what its value must be, by the default that it has; those without one are names of environments."""
    empty = CompileOptions()
    found: dict[str, Any] = {}
    for field in fields(CompileOptions):
        default = getattr(empty, field.name)
        if field.name != "opts":
            check = _is_text if default is None else _BY_DEFAULT.get(type(default), _is_list)
            found[field.name] = _is_list if field.name in _ENTRIES else check
    return found


_PARSED = _checks()
