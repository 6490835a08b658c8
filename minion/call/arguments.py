"""Arguments of execution functions as typed: `value` and `key=value`, each value read as YAML.

Called by `saltern call` and `saltern run`. Pure; imports YAML only when a word looks like more than a word.
Behaviour: Salt's, which keeps as text what a person would not expect to become something else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_KEYWORD = re.compile(r"([^\d\W][\w.-]*)=(?!=)(.*)", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z/_][A-Za-z0-9_./@+-]*")
_LOSSY = re.compile(r"[-+]?0\d+(\.\d*)?|[-+\d.]*:.*|[-+]?\d*\.\d+0|.*_.*")
"""Numbers that nobody can tell from the text once they are numbers."""
_NOT_PLAIN = frozenset(("true", "false", "yes", "no", "on", "off", "null", "none", "y", "n"))


class BadArgument(Exception):
    """A word that is no value."""


def parse(words: Sequence[str], as_text: Sequence[str] = ()) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments, in the order typed; the values of those named by `as_text` stay text."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for word in words:
        found = _KEYWORD.fullmatch(word)
        if found is None:
            args.append(value_of(word))
        elif not found[1].startswith("__pub_"):  # Salt's own, which nobody gives
            kwargs[found[1]] = found[2] if found[1] in as_text else value_of(found[2])
    return tuple(args), kwargs


def parse_mixed(args: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and named arguments of a list of values, as scripts give it to Salt's clients.

    Texts `name=value` in it are named ones, and so are marked mappings. Other texts stay as they are; the value of a
    named one is YAML, as on a command line.

    Source: salt.utils.args.parse_input, salt.minion.load_args_and_kwargs.
    """
    values: list[Any] = []
    named: dict[str, Any] = {}
    for one in args:
        if isinstance(one, Mapping) and one.get("__kwarg__") is True:
            named |= {str(name): value for name, value in one.items() if name != "__kwarg__"}
            continue
        try:
            pairs = parse((one,))[1] if isinstance(one, str) and "=" in one else {}
        except BadArgument:
            pairs = {}
        if pairs:
            named |= pairs
        else:
            values.append(one)
    return values, named


def value_of(word: str) -> Any:
    """A word as YAML reads it; what only happens to look like a number, a timestamp or a comment stays text."""
    if not word.strip() or "\n" in word:
        return word
    if _PLAIN.fullmatch(word) and word.lower() not in _NOT_PLAIN:
        return word
    if word in ("None", "none", "|") or word.startswith("#"):
        return None if word == "None" else word
    import yaml

    try:
        value = yaml.load(word, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  (a safe loader)
    except yaml.YAMLError as error:
        if word.lstrip()[:1] in "{[":
            raise BadArgument(f"{word!r} is no YAML: {' '.join(str(error).split())}") from None
        return word
    if isinstance(value, int | float) and str(value) != word.strip() and _LOSSY.fullmatch(word.strip()):
        return word  # 3007.10 is a version, 0644 a mode, 12:30 a time: what was typed would be lost
    if "#" in word:  # as Salt: what YAML takes for a comment is text, unless a value is left without it
        return word if value is None or isinstance(value, str) else value
    if isinstance(value, bool | int | float | str | bytes) or value is None:
        return value
    if isinstance(value, dict | list) and word.lstrip()[:1] in "{[":
        return value
    return word
