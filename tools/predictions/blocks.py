"""The states that a generated site is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

ROOT = "{{ grains['root'] }}"


@dataclass(slots=True, kw_only=True)
class Block:
    """One state."""

    id: str
    kind: str
    """A key of KINDS."""
    number: int
    """What an edit changes."""
    file: int
    """Which source or template it uses."""
    other: str
    """The block whose file it reads or edits."""
    links: list[tuple[str, str, str]] = field(default_factory=list)
    """(requisite, module, id)."""

    @property
    def path(self) -> str:
        """The file that it manages."""
        return f"{ROOT}/{self.id}"

    @property
    def other_path(self) -> str:
        """The file of another block."""
        return f"{ROOT}/{self.other}"

    def lines(self) -> list[str]:
        """The state as YAML."""
        kind = KINDS[self.kind]
        found = [f"{self.id}:", f"  {kind.module}.{kind.fun}:", *(f"    - {line}" for line in kind.arguments(self))]
        for requisite in dict.fromkeys(link[0] for link in self.links):
            found.append(f"    - {requisite}:")
            found += [f"      - {module}: {one}" for name, module, one in self.links if name == requisite]
        return found


@dataclass(frozen=True, slots=True)
class Kind:
    """A state function and its arguments."""

    module: str
    fun: str
    arguments: Callable[[Block], list[str]]
    makes_file: bool = False
    """Whether others may read the file of its path."""
    plain: bool = True
    """Whether it is drawn often; others have a part in causes that are tried apart."""

    @property
    def edits(self) -> bool:
        """Whether it edits the file of another block."""
        return self.fun in ("append", "replace", "blockreplace")

    @property
    def makes_editable(self) -> bool:
        """Whether others may edit its file without an end: it does not determine all of it."""
        return self in (KINDS["kept"], KINDS["prepend"], KINDS["touch"])


def _file(fun: str, arguments: Callable[[Block], list[str]], *, makes: bool = True, plain: bool = True) -> Kind:
    return Kind("file", fun, arguments, makes, plain)


def _cmd(arguments: Callable[[Block], list[str]], *, plain: bool = True, fun: str = "run") -> Kind:
    return Kind("cmd", fun, arguments, False, plain)


def _test(fun: str, *, plain: bool = True) -> Kind:
    return Kind("test", fun, lambda block: [f"name: {block.id}-{block.number}"], False, plain)


KINDS: dict[str, Kind] = {
    "contents": _file(
        "managed",
        lambda b: [
            f"name: {b.path}",
            f"contents: \"line {b.number}\\nvalue {{{{ pillar['n{b.file}'] }}}}\\non {{{{ grains['id'] }}}}\\n\"",
            f"mode: '06{b.number % 5}0'",
        ],
    ),
    "source": _file("managed", lambda b: [f"name: {b.path}", f"source: salt://files/{b.file}.txt", "makedirs: True"]),
    "template": _file("managed", lambda b: [f"name: {b.path}", f"source: salt://files/{b.file}.j2", "template: jinja"]),
    "deep": _file(
        "managed",
        lambda b: [f"name: {ROOT}/deep{b.number % 7}/{b.id}", f"contents: deep {b.number}", "makedirs: True"],
        makes=False,
    ),
    "no-parent": _file(
        "managed",
        lambda b: [f"name: {ROOT}/dir{b.number % 7}/{b.id}", f"contents: in a folder {b.number}"],
        makes=False,
        plain=False,
    ),
    "folder": _file("directory", lambda b: [f"name: {ROOT}/dir{b.number % 7}"], makes=False),
    "absent": _file("absent", lambda b: [f"name: {ROOT}/s{b.number}-out"], makes=False),
    "symlink": _file("symlink", lambda b: [f"name: {b.path}", f"target: {b.other_path}{b.number % 3}"], makes=False),
    "append": _file("append", lambda b: [f"name: {b.other_path}", f"text: appended {b.number}"], makes=False),
    "prepend": _file("prepend", lambda b: [f"name: {b.path}", f"text: first {b.number}", "makedirs: True"]),
    "replace": _file(
        "replace",
        lambda b: [f"name: {b.other_path}", "pattern: 'line [0-9]+'", f"repl: line {b.number}", "backup: False"],
        makes=False,
    ),
    "block": _file(
        "blockreplace",
        lambda b: [
            f"name: {b.other_path}",
            f"content: block {b.number}",
            "append_if_not_found: True",
            f"marker_start: '# {b.id} start'",
            f"marker_end: '# {b.id} end'",
            "backup: False",
        ],
        makes=False,
    ),
    "copy": _file("copy", lambda b: [f"name: {b.path}", f"source: {b.other_path}", "force: True"]),
    "serialize": _file(
        "serialize",
        lambda b: [f"name: {b.path}", f"dataset: {{one: {b.number}, two: [a, b]}}", "serializer: json"],
    ),
    "keyvalue": _file(
        "keyvalue",
        lambda b: [f"name: {b.path}", f"key_values: {{key: '{b.number}'}}", "append_if_not_found: True"],
        makes=False,
        plain=False,
    ),
    "ini": Kind(
        "ini",
        "options_present",
        lambda b: [f"name: {b.path}", f"sections: {{main: {{port: '{b.number}'}}}}"],
        makes_file=True,
    ),
    "touch": _file("touch", lambda b: [f"name: {b.path}"], plain=False),
    "recurse": _file(
        "recurse", lambda b: [f"name: {ROOT}/recursed-{b.id}", f"source: salt://folder/{b.file}"], makes=False
    ),
    "kept": _file("managed", lambda b: [f"name: {b.path}", f"contents: line {b.number}", "replace: False"]),
    "unless": _file(
        "managed",
        lambda b: [f"name: {b.path}", f"contents: unless {b.number}", f"unless: test -e {b.other_path}"],
    ),
    "creates": _cmd(lambda b: [f"name: touch {b.path}-{b.number}", f"creates: {b.path}-{b.number}"]),
    "onlyif": _cmd(lambda b: [f"name: echo {b.number} >> {b.path}-log", f"onlyif: test -e {b.other_path}"]),
    "command": _cmd(lambda b: [f"name: echo {b.number} > {b.path}-out"]),
    "failing": _cmd(lambda b: [f"name: sh -c 'exit {b.number % 2}'"], plain=False),
    "wait": _cmd(lambda b: [f"name: echo {b.number} > {b.path}-waited"], fun="wait"),
    "nop": _test("nop"),
    "changes": _test("succeed_with_changes"),
    "fails": _test("fail_without_changes", plain=False),
    "environ": Kind("environ", "setenv", lambda b: [f"name: PREDICTED_{b.id}", f"value: '{b.number}'"], plain=False),
    "grains": Kind("grains", "present", lambda b: [f"name: drawn{b.number % 3}", f"value: v{b.number}"], plain=False),
    "live": _file(
        "managed",
        lambda b: [
            f"name: {b.path}",
            f"contents: \"{{{{ salt['file.file_exists'](grains['root'] ~ '/{b.other}') }}}} {b.number}\"",
        ],
        plain=False,
    ),
    "live-template": _file(
        "managed",
        lambda b: [f"name: {b.path}", f"source: salt://files/live{b.file}.j2", "template: jinja"],
        plain=False,
    ),
    "check": _file(
        "managed",
        lambda b: [f"name: {b.path}", f"contents: checked {b.number}", f"check_cmd: 'test {b.number % 3} -lt 2 ||'"],
        plain=False,
    ),
}
"""Name -> what it is."""
PLAIN_KINDS = tuple(name for name, kind in KINDS.items() if kind.plain)
