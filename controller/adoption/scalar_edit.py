"""One value of a YAML text replaced, and every other character kept. Pure; called by `edits`.

1. The line with the key is split into what stands before the value, the value, and a comment behind it.
2. The new value takes the form that the old one has: plain, in quotes, a block, a list of lines.
3. What was written is read again as YAML: it has to give the very value.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

import yaml

from controller.observe.value_places import Lines
from highstate.types import Value

_HEAD = re.compile(
    r"""(?P<head>\s*(?:- +)?(?P<key>"[^"]*"|'[^']*'|[^\s#'"{\[&*!|>%@`][^#:]*?)\s*:)(?P<rest>(?:\s.*)?)$"""
)
_SINGLE = re.compile(
    r"""(?P<space>\s+)(?P<value>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'&*!|>{\[%@`#].*?)(?P<comment>\s+#.*|\s*)$"""
)
_BLOCK = re.compile(r"(?P<space>\s+)(?P<sign>[|>][+-]?)(?P<comment>\s+#.*|\s*)$")
_PRINTABLE = re.compile(r"[\x09\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*\Z")
"""What a block of YAML can hold; line ends other than `\\n` it cannot."""
JINJA = re.compile(r"\{\{|\{%|\{#")

_NOTHING = object()


class CannotEdit(Exception):
    """A text in which the value cannot be replaced; says why."""


def with_value(text: str, lines: Lines, value: Value) -> str:
    """The text with another value behind the key of the first of these lines.

    Args:
        text: of the whole file.
        lines: of the key and its value; what follows the value may be among them.
        value: a string, number, boolean, or a list of strings.

    Raises:
        CannotEdit: the value is written in a form that cannot be replaced exactly.
    """
    all_lines = text.splitlines(keepends=True)
    first = all_lines[lines.first - 1].rstrip("\r\n")
    end = all_lines[lines.first - 1][len(first) :] or "\n"
    head = _HEAD.match(first)
    if head is None:
        raise CannotEdit("no key with a value stands there")
    last = _last_of_value(all_lines, lines, _column(head["head"]))
    body = [line.rstrip("\r\n") for line in all_lines[lines.first : last]]
    if any(JINJA.search(line) for line in (first, *body)):
        raise CannotEdit("it is written with Jinja")
    if any(JINJA.search(one) for one in _texts(value)):
        raise CannotEdit("the new value has what Jinja would take for its own")
    written = _written(head["head"], head["rest"], body, value)
    if not _is_same(_read("\n".join(written)), value):
        raise CannotEdit("the new value cannot be written in the form that the old one has")
    return "".join([*all_lines[: lines.first - 1], *(line + end for line in written), *all_lines[last:]])


def _texts(value: Value) -> Sequence[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


def _column(head: str) -> int:
    """Where the key begins, behind the dash of a list."""
    return len(head) - len(head.lstrip(" -"))


def _last_of_value(lines: Sequence[str], within: Lines, column: int) -> int:
    """Number of the last line that belongs to the value: deeper than its key; a list may begin below it."""
    last = within.first
    for number in range(within.first + 1, within.last + 1):
        line = lines[number - 1]
        bare = line.strip()
        if not bare:
            continue
        indent = len(line) - len(line.lstrip(" "))
        if indent > column or (indent == column and bare.startswith("- ") and column):
            last = number
            continue
        break
    return last


def _written(head: str, rest: str, body: Sequence[str], value: Value) -> list[str]:
    """The new lines."""
    block, single = _BLOCK.match(rest), _SINGLE.match(rest)
    if isinstance(value, list):
        return [head + rest, *_as_list(body, value)]
    text = value if isinstance(value, str) else ""
    if block is not None or (single is not None and "\n" in text and not body):
        found = block or single
        assert found is not None  # noqa: S101 - one of both matched
        indent = _indent_of(body) or " " * (_column(head) + 2)
        comment = found["comment"] if found["comment"].strip() else ""
        return [f"{head}{found['space']}{_sign(text)}{comment}", *_as_block(text, indent)]
    if single is None or any(line.strip() for line in body):
        raise CannotEdit(
            "it is written in a form that is not edited: over several lines, as a mapping, or with an anchor"
        )
    return [f"{head}{single['space']}{_scalar(single['value'], value)}{single['comment']}"]


def _indent_of(body: Sequence[str]) -> str:
    return next((line[: len(line) - len(line.lstrip(" "))] for line in body if line.strip()), "")


def _sign(text: str) -> str:
    if not text.endswith("\n"):
        return "|-"
    return "|+" if text.endswith("\n\n") or text == "\n" else "|"


def _as_block(text: str, indent: str) -> list[str]:
    lines = text.removesuffix("\n").split("\n")
    if lines[0][:1] in (" ", "\t", "") or not all(_PRINTABLE.match(line) for line in lines):
        raise CannotEdit(
            "the new value begins with a space or an empty line, or has characters that YAML does not take"
        )
    return [indent + line if line else "" for line in lines]


def _as_list(body: Sequence[str], value: Sequence[str]) -> list[str]:
    dashes = [line[: len(line) - len(line.lstrip())] for line in body if line.lstrip().startswith("- ")]
    if not dashes or len(set(dashes)) != 1:
        raise CannotEdit("it is no list with one line for each item")
    old = {str(_read(f"key: {line.strip()[2:]}")): line for line in body if line.lstrip().startswith("- ")}
    return [old[one] if one in old else f"{dashes[0]}- {_scalar('', one)}" for one in value]


def _scalar(old: str, value: Value) -> str:
    """A value of one line as YAML, in the quotes that the old one has."""
    if isinstance(value, bool):
        text = "true" if value else "false"
        return text if old.islower() else text.capitalize()
    if isinstance(value, int | float):
        return str(value)
    text = str(value)
    if not _PRINTABLE.match(text):
        raise CannotEdit("the new value has characters that YAML does not take on one line")
    if old[:1] == '"' and "\\" not in text:
        return '"' + text.replace('"', '\\"') + '"'
    if old[:1] != "'" and text and _is_same(_read(f"key: {text}"), text):
        return text
    return "'" + text.replace("'", "''") + "'"


def _read(text: str) -> Value:
    """The value of a key that stands alone, or in a list; `_NOTHING` where there is none."""
    try:
        found = yaml.safe_load(textwrap.dedent(text) + "\n")
    except (yaml.YAMLError, ValueError, RecursionError):
        return _NOTHING
    found = found[0] if isinstance(found, list) and len(found) == 1 else found
    return next(iter(found.values())) if isinstance(found, dict) and len(found) == 1 else _NOTHING


def _is_same(one: Value, other: Value) -> bool:
    return type(one) is type(other) and bool(one == other)
