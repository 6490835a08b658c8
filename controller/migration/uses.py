"""What a file of a tree uses, found in its text: states, functions, renderers, helpers of Salt. Called by `trees`.

Nothing is rendered: Jinja is taken out of an SLS, and what is left is read line by line by its indentation. So names
that a template makes are not seen. The text may be anybody's: all that is done is linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from controller.migration.limits import LINE_CHARACTERS

UseKind: TypeAlias = Literal[
    "state", "argument", "function", "template function", "runner", "wheel", "renderer", "caller"
]


class Use(NamedTuple):
    """One name that a file uses."""

    kind: UseKind
    name: str
    """Of an argument: the function, a blank and the argument."""
    line: int


_HOLE = "\ue000"
"""Stands for what a template prints."""
_FUNCTION = re.compile(
    r"""\b(?:__salt__|salt)(?:\[\s*['"]([a-z_]\w{0,60}\.\w{1,60})['"]\s*\]|\.([a-z_]\w{0,60}\.\w{1,60})\s{0,4}\()"""
)
_IMPORTED = re.compile(r"^\s{0,40}(?:from|import)\s{1,8}(salt(?:\.\w{1,60}){0,6})", re.MULTILINE)
_NAMES_FILE = re.compile(r"""(?:from|import|import_yaml|import_json|import_text|include)\s{1,4}([^%\n]{1,300})""")
_QUOTED = re.compile(r"""['"]([^'"\n]{1,200})['"]""")
_KEY = re.compile(r"""['"]?([A-Za-z_]\w{0,60})(?:\.([A-Za-z_]\w{0,60}))?['"]?\s{0,8}(:(?:\s.*)?)?$""", re.DOTALL)
_REACTION = re.compile(r"(local|cmd|runner|wheel|caller)\.([a-z_]\w{0,60}\.\w{1,60})\s{0,8}:?")
_SHORT = re.compile(r"[^:#]{1,200}:\s{1,8}['\"]?([a-z_]\w{0,60}\.[a-z_]\w{0,60})['\"]?$")
_ITEM = re.compile(r"['\"]?([A-Za-z_][\w.]{0,100})['\"]?\s{0,8}:(?:\s+['\"]?([^\s'\"]{0,100}))?")
_PLAIN = re.compile(r"['\"]?([a-z_]\w{0,60})['\"]?$")
_ON_MINIONS = ("module.run", "module.wait", "module.watch", "salt.function", "schedule.present")
_ON_CONTROLLER = {"salt.runner": "runner", "salt.wheel": "wheel"}
_NOT_IDS = frozenset(("include", "exclude"))


def uses_of_sls(text: str) -> Iterator[Use]:
    """What an SLS uses, in the order of its lines; a name may come more than once."""
    first, _, rest = text.partition("\n")
    steps = [step.split()[0] for step in first[2:].split("|") if step.split()] if first.startswith("#!") else []
    yield from (Use("renderer", step[:100], 1) for step in steps if "/" not in step)
    body = without_comments("\n" + rest if steps else text)
    yield from template_functions(body)
    if not {"py", "pyobjects", "pydsl", "json", "toml"} & set(steps):
        yield from _Lines().uses(_without_statements(body))


def uses_of_template(text: str) -> Iterator[Use]:
    """What a template of a file, or a module in Python, calls."""
    yield from template_functions(without_comments(text))


def template_functions(text: str) -> Iterator[Use]:
    """`salt['module.name']` and its other forms."""
    line, at = 1, 0
    for found in _FUNCTION.finditer(text):
        line += text.count("\n", at, found.start())
        at = found.start()
        yield Use("template function", found[1] or found[2], line)


def imported_helpers(text: str) -> frozenset[str]:
    """Modules of Salt that a module in Python imports."""
    return frozenset(found[1] for found in _IMPORTED.finditer(text) if found[1] != "salt")


def named_files(text: str) -> frozenset[str]:
    """Ends of the paths of files that a template imports or includes."""
    return frozenset(
        quoted[1].removeprefix("salt://").lstrip("./")
        for statement in _statements(text)
        for found in _NAMES_FILE.finditer(statement)
        for quoted in _QUOTED.finditer(found[1])
    ) - {""}


def without_comments(text: str) -> str:
    """A template without `{# … #}`, with all its lines."""
    return _cut(text, "{#", "#}", "")


def _without_statements(text: str) -> str:
    return _cut(_cut(text, "{%", "%}", ""), "{{", "}}", _HOLE)


def _statements(text: str) -> Iterator[str]:
    at = 0
    while (begin := text.find("{%", at)) >= 0:
        end = text.find("%}", begin)
        if end < 0:
            return
        yield text[begin + 2 : end].lstrip("-+ ")
        at = end + 2


def _cut(text: str, begins: str, ends: str, instead: str) -> str:
    """A text in whose place of each part between two marks something else stands, with the part's lines."""
    kept, at = [], 0
    while (begin := text.find(begins, at)) >= 0:
        end = text.find(ends, begin + 2)
        if end < 0:
            break
        kept += [text[at:begin], instead, "\n" * text.count("\n", begin, end)]
        at = end + 2
    return "".join([*kept, text[at:]])


class _Lines:
    """Reads the lines of an SLS; knows below which ID and state it is."""

    def __init__(self) -> None:
        self._parents: list[tuple[int, bool, str]] = []
        """(indentation, whether it is an item of a list, text) of the lines that the next one may belong to."""
        self._state = ""
        self._module = ""
        """A state module whose function stands below it."""
        self._id = ""

    def uses(self, text: str) -> Iterator[Use]:
        """What the lines use."""
        for number, whole in enumerate(text.split("\n"), 1):
            line = whole[:LINE_CHARACTERS].expandtabs().rstrip()
            content = line.lstrip(" ")
            if not content or content[0] == "#" or content == "---":
                continue
            content = content.partition(" #")[0].rstrip()
            yield from self._line(number, len(line) - len(line.lstrip(" ")), content)

    def _line(self, number: int, indent: int, content: str) -> Iterator[Use]:
        item = content.startswith("- ")
        while self._parents and self._is_beside(indent, item):
            self._parents.pop()
        parents = [text for _, _, text in self._parents]
        if len(parents) < 40:
            self._parents.append((indent, item, content))
        depth = len(parents)
        if parents and parents[0].startswith("extend:"):
            depth -= 1
        elif parents and parents[0].rstrip(":") in _NOT_IDS:
            return
        if depth == 0:
            yield from self._declaration(number, content)
        elif depth == 1:
            yield from self._function(number, content[2:].strip() if item else content)
        elif depth == 2 and item:
            yield from self._argument(number, content[2:].strip())

    def _is_beside(self, indent: int, item: bool) -> bool:
        above, above_item, _ = self._parents[-1]
        return above > indent or (above == indent and (above_item or not item))

    def _declaration(self, number: int, content: str) -> Iterator[Use]:
        self._id, self._state, self._module = content.rstrip(":").strip("'\""), "", ""
        if found := _SHORT.match(content):
            yield Use("state", found[1], number)

    def _function(self, number: int, content: str) -> Iterator[Use]:
        self._state = self._module = ""
        if found := _REACTION.match(content):
            kind: UseKind = "function" if found[1] in ("local", "cmd") else found[1]  # type: ignore[assignment]
            yield Use(kind, found[2], number)
        elif (found := _KEY.match(content)) is None or found[1].startswith("__"):
            return
        elif found[2]:
            self._state = f"{found[1]}.{found[2]}"
            yield Use("state", self._state, number)
            yield from self._by_id(number)
        elif found[3]:
            self._module = found[1]

    def _by_id(self, number: int) -> Iterator[Use]:
        """A step whose function is its ID, when it is written like one."""
        if self._state == "salt.function" and re.fullmatch(r"[a-z_]\w{0,60}\.\w{1,60}", self._id):
            yield Use("function", self._id, number)

    def _argument(self, number: int, content: str) -> Iterator[Use]:
        if self._module and (found := _PLAIN.match(content)):
            self._state, self._module = f"{self._module}.{found[1]}", ""
            yield Use("state", self._state, number)
            return
        found = _ITEM.match(content)
        if not self._state or found is None:
            return
        name, value = found[1], found[2] or ""
        called = value if name in ("name", "function", "func") else name if "." in name else ""
        if self._state in _ON_MINIONS and re.fullmatch(r"[a-z_]\w{0,60}\.\w{1,60}", called):
            yield Use("function", called, number)
        elif self._state in _ON_CONTROLLER and name == "name" and re.fullmatch(r"[a-z_]\w{0,60}\.\w{1,60}", value):
            yield Use("runner" if self._state == "salt.runner" else "wheel", value, number)
        elif "." not in name:
            yield Use("argument", f"{self._state} {name}", number)
