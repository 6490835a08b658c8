"""The states that a generated site is made of: one state, and what a kind of state has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

ROOT = "{{ grains['root'] }}"


@dataclass(slots=True, kw_only=True)
class Block:
    """One state."""

    id: str
    kind: str
    """A key of `kinds.KINDS`."""
    number: int
    """What an edit changes."""
    file: int
    """Which source or template it uses."""
    other: str
    """The block whose file it reads or edits."""
    links: list[tuple[str, str, str]] = field(default_factory=list)
    """(requisite, module, id)."""
    option: str = ""
    """A key of `options.OPTIONS`: a condition or another argument that every state takes."""
    asked: str = ""
    """The block of whose file the condition asks."""
    only_if: str = ""
    """An expression of templates; without it the state is not there."""

    @property
    def path(self) -> str:
        """The file that it manages."""
        return f"{ROOT}/{self.id}"

    @property
    def other_path(self) -> str:
        """The file of another block."""
        return f"{ROOT}/{self.other}"


Arguments = Callable[[Block], list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A state function and its arguments."""

    module: str
    fun: str
    arguments: Arguments
    makes_file: bool = False
    """Whether others may read the file of its path."""
    plain: bool = True
    """Whether it is drawn often; others have a part in causes that are tried apart."""
    edits: bool = False
    """Whether it edits the file of another block."""
    keeps: bool = False
    """Whether others may edit its file without an end: it does not determine all of it."""
    gathers: bool = False
    """Whether its template takes what `file.accumulated` gathers."""
    needs: str = ""
    """What the rig has to have for it: `machine`, where minions have an /etc of their own."""


def of_file(
    fun: str,
    arguments: Arguments,
    *,
    makes_file: bool = False,
    plain: bool = True,
    edits: bool = False,
    keeps: bool = False,
    gathers: bool = False,
) -> Kind:
    """A kind of `file` states."""
    return Kind(
        module="file",
        fun=fun,
        arguments=arguments,
        makes_file=makes_file,
        plain=plain,
        edits=edits,
        keeps=keeps,
        gathers=gathers,
    )


def of_content(arguments: Arguments, *, plain: bool = True, keeps: bool = False, gathers: bool = False) -> Kind:
    """A kind that determines the content of its own file. `arguments`: beside the name."""
    named = _after("path", arguments)
    return of_file("managed", named, makes_file=True, plain=plain, keeps=keeps, gathers=gathers)


def of_edit(fun: str, arguments: Arguments, *, plain: bool = True) -> Kind:
    """A kind that edits another one's file. `arguments`: beside the name."""
    return of_file(fun, _after("other_path", arguments), edits=True, plain=plain)


def _after(path: str, arguments: Arguments) -> Arguments:
    return lambda block: [f"name: {getattr(block, path)}", *arguments(block)]


def of_command(arguments: Arguments, *, plain: bool = True, fun: str = "run") -> Kind:
    """A kind of `cmd` states."""
    return Kind(module="cmd", fun=fun, arguments=arguments, plain=plain)


def of_test(fun: str, *arguments: str, plain: bool = True) -> Kind:
    """A kind of `test` states."""
    return Kind(
        module="test",
        fun=fun,
        arguments=lambda block: [f"name: {block.id}-{block.number}", *arguments],
        plain=plain,
    )


_GROUPS = ("adm", "games", "mail")


def of_machine(module: str, fun: str, *lines: str, plain: bool = True) -> Kind:
    """A kind that changes what a machine has one of.

    Args:
        module: of the state.
        fun: of the state.
        lines: arguments. `%d` stands for the number of the block, `%s` for its last digit, `%i` for its id, `%w` for a
            group that there is.
        plain: see `Kind`.
    """

    def arguments(block: Block) -> list[str]:
        given = {
            "%d": str(block.number),
            "%s": str(block.number % 10),
            "%i": block.id,
            "%w": _GROUPS[block.number % len(_GROUPS)],
        }
        found = list(lines)
        for name, value in given.items():
            found = [line.replace(name, value) for line in found]
        return found

    return Kind(module=module, fun=fun, arguments=arguments, needs="machine", plain=plain)
