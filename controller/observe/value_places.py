"""Where a value of a state is written: lines of its SLS, and the keys of pillar that these lines read. Pure.

A document names the SLS of a state, and no line: the text is read by lines, as far as its YAML goes. Nothing is
rendered: variables are followed through `set`, `for` and `import` as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from highstate.types import Value

_KEY = re.compile(r"""(\s*)(?:- )?(?:"([^"]*)"|'([^']*)'|([^\s#'"{\[][^#:]*?))\s*:(?:\s|$)""")
_ID = re.compile(r"""(\s*)(?:"([^"]*)"|'([^']*)'|([^\s#'"][^#]*?))\s*:\s*(?:#.*)?$""")
_ARGUMENT = re.compile(r"""\s*-\s+(?:"([^"]*)"|'([^']*)'|([\w.-]+))\s*:(?:\s|$)""")
_FUNCTION = re.compile(r"(\s*)(?:- )?(\w+(?:\.\w+)?)\s*:?\s*(?:#.*)?$")
_SET = re.compile(r"\{%-?\s*set\s+(\w+)\s*=\s*(.*?)-?%\}")
_FOR = re.compile(r"\{%-?\s*for\s+([\w\s,]+?)\s+in\s+(.*?)-?%\}")
_FROM = re.compile(r"""\{%-?\s*from\s+["']([^"']+)["']\s+import\s+([\w\s,]+?)(?:\s+with(?:out)? context)?\s*-?%\}""")
_JINJA = re.compile(r"\{\{(.*?)\}\}|\{%(.*?)%\}")
_GET = re.compile(r"""pillar\.get["'\]]*\s*\(\s*["']([^"']+)["']""")
_PILLAR = re.compile(r"""\bpillar((?:\[\s*["'][^"'\]]+["']\s*\]|\.(?!get\b|items\b)[A-Za-z_]\w*)+)""")
_PART = re.compile(r"""\[\s*["']([^"'\]]+)["']\s*\]|\.(\w+)""")
_WORD = re.compile(r"""(?<![\w.'"])([A-Za-z_]\w*)((?:\[\s*["'][^"'\]]+["']\s*\]|\.\w+)*)""")
_NOT_KEYS = frozenset(("items", "keys", "values", "get", "iteritems"))
_LONGEST = 1000
"""Characters of a line that are looked at."""
_DEEPEST = 5
"""Variables made of variables."""

EACH = "*"
"""Stands in a path for the key over which a loop goes."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a file, counted from 1."""

    first: int
    last: int


def lines_of_keys(text: str) -> dict[tuple[str, ...], int]:
    """Path of keys -> the first line that has it, by how far lines are indented."""
    found: dict[tuple[str, ...], int] = {}
    open_keys: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _KEY.match(line[:_LONGEST])
        if match is None or line.lstrip().startswith(("{%", "{#", "#")):
            continue
        indent = len(match[1])
        while open_keys and open_keys[-1][0] >= indent:
            open_keys.pop()
        open_keys.append((indent, match[2] or match[3] or match[4]))
        if len(open_keys) <= 20:
            found.setdefault(tuple(name for _, name in open_keys), number)
    return found


def block_of(text: str, identifier: str) -> Lines | None:
    """The lines of an ID with all that is below it, also where it is written with Jinja."""
    lines = text.splitlines()
    best: tuple[int, int] | None = None
    for number, line in enumerate(lines, 1):
        match = _ID.match(line[:_LONGEST])
        if match is None or line.lstrip().startswith(("{%", "{#", "#", "-")):
            continue
        written = match[2] or match[3] or match[4]
        if written == identifier:
            return Lines(number, _end(lines, number, len(match[1])))
        if best is None and _may_give(written, identifier):
            best = number, len(match[1])
    return None if best is None else Lines(best[0], _end(lines, *best))


def function_lines(text: str, block: Lines, state: str, fun: str) -> Lines | None:
    """The lines of one function of an ID with its arguments, from `state.fun` or `state` on; None without one."""
    lines = text.splitlines()
    for number in range(block.first + 1, block.last + 1):
        match = _FUNCTION.match(lines[number - 1][:_LONGEST])
        if match is not None and match[2] in (f"{state}.{fun}", state):
            return Lines(number, _end_of_function(lines, number, block.last, len(match[1])))
    return None


def _end_of_function(lines: list[str], first: int, most: int, indent: int) -> int:
    """A list of arguments may stand in the column of its function."""
    last = first
    for number in range(first + 1, most + 1):
        line = lines[number - 1]
        bare = line.lstrip()
        if not bare or bare.startswith(("{%", "{#", "#")):
            continue
        depth = len(line) - len(bare)
        if depth < indent or (depth == indent and not bare.startswith("- ")):
            break
        last = number
    return last


def _may_give(written: str, identifier: str) -> bool:
    """Whether a key with Jinja may be an ID, by what stands before and behind that."""
    before, found, rest = written.partition("{{")
    behind = rest.rpartition("}}")[2]
    if not found or len(identifier) < len(before) + len(behind):
        return False
    return bool(before + behind) and identifier.startswith(before) and identifier.endswith(behind)


def _end(lines: list[str], first: int, indent: int) -> int:
    last = first
    for number in range(first + 1, len(lines) + 1):
        line = lines[number - 1]
        bare = line.lstrip()
        if not bare or bare.startswith(("{%", "{#", "#")):
            continue
        if len(line) - len(bare) <= indent:
            break
        last = number
    return last


def arguments_in(text: str, block: Lines) -> dict[str, Lines]:
    """Argument -> its lines within a block; of several of a name the first."""
    lines = text.splitlines()
    starts: list[tuple[int, str]] = []
    for number in range(block.first + 1, block.last + 1):
        match = _ARGUMENT.match(lines[number - 1][:_LONGEST])
        if match is None:
            continue
        indent = len(lines[number - 1]) - len(lines[number - 1].lstrip())
        if not starts or indent <= len(lines[starts[0][0] - 1]) - len(lines[starts[0][0] - 1].lstrip()):
            starts.append((number, match[1] or match[2] or match[3]))
    found: dict[str, Lines] = {}
    for place, (number, name) in enumerate(starts):
        last = starts[place + 1][0] - 1 if place + 1 < len(starts) else block.last
        found.setdefault(name, Lines(number, last))
    return found


@dataclass(slots=True)
class PillarReads:
    """Which keys of pillar a text reads; follows its variables.

    Args:
        text: of the whole file.
        read: the text of a file of the tree; None where there is none.
    """

    text: str
    read: Callable[[str], str | None]
    depth: int = 0
    _variables: dict[str, str] = field(default_factory=dict)
    _loops: frozenset[str] = frozenset()
    _imported: dict[str, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        loops = set[str]()
        for line in self.text.splitlines():
            line = line[:_LONGEST]
            for match in _SET.finditer(line):
                self._variables[match[1]] = match[2]
            for match in _FOR.finditer(line):
                for name in match[1].split(","):
                    self._variables[name.strip()] = match[2]
                    loops.add(name.strip())
            for match in _FROM.finditer(line):
                for name in match[2].split(","):
                    words = name.split()
                    if words:
                        self._imported[words[-1]] = match[1], words[0]
        self._loops = frozenset(loops)

    def of(self, text: str) -> list[str]:
        """Paths of keys (`a:b`) that the Jinja in some lines reads."""
        found: list[str] = []
        for match in _JINJA.finditer(text):
            found += self._in_expression(match[1] or match[2] or "", 0)
        return list(dict.fromkeys(found))

    def _in_expression(self, text: str, depth: int) -> Iterator[str]:
        yield from (match[1] for match in _GET.finditer(text))
        yield from (":".join(_parts(match[1])) for match in _PILLAR.finditer(text))
        if depth + self.depth >= _DEEPEST:
            return
        for match in _WORD.finditer(text):
            name, parts = match[1], _parts(match[2])
            if name == "pillar":
                continue
            if name in self._variables:
                middle = [EACH] if name in self._loops else []
                for path in self._in_expression(self._variables[name], depth + 1):
                    yield ":".join([path, *middle, *parts])
            elif name in self._imported:
                file, there = self._imported[name]
                text_there = self.read(file)
                if text_there is not None:
                    inner = PillarReads(text_there, self.read, depth + self.depth + 1)
                    yield from (":".join([path, *parts]) for path in inner.of("{{ " + there + " }}"))


def _parts(text: str) -> list[str]:
    found: list[str] = []
    for match in _PART.finditer(text):
        name = match[1] or match[2]
        if name in _NOT_KEYS:
            break
        found.append(name)
    return found


def filled_in(path: str, pillar: Mapping[str, Value], wanted: Value, names: str) -> str:
    """A path with the keys of loops: those of which the value is the one that is looked for, or that a name has.

    Args:
        path: with `*` for the keys of loops.
        pillar: of the minion.
        wanted: the value of the state.
        names: ID and name of the state.
    """
    parts = path.split(":")
    here: Value = pillar
    for place, part in enumerate(parts):
        if part == EACH and isinstance(here, Mapping):
            fitting = [str(key) for key in here if str(key) in names]
            fitting += [str(key) for key, value in here.items() if _at(value, parts[place + 1 :]) == wanted]
            if not fitting:
                return ":".join(parts[:place])
            parts[place] = part = fitting[0]
        elif part == EACH:
            return ":".join(parts[:place])
        if not isinstance(here, Mapping) or part not in here:
            return ":".join(parts[: place + 1]) if EACH not in parts[: place + 1] else ":".join(parts[:place])
        here = here[part]
    return ":".join(parts)


def _at(value: Value, parts: list[str]) -> Value:
    for part in parts:
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


def value_at(pillar: Mapping[str, Value], path: str) -> Value:
    """What a path of keys leads to; None where there is nothing."""
    return _at(pillar, path.split(":"))


def says(line: str, value: Value) -> bool:
    """Whether a line of YAML has a value behind its key."""
    written = line.partition(":")[2].partition(" #")[0].strip().strip("'\"")
    return isinstance(value, str | int | float) and written.lower() == str(value).lower()
