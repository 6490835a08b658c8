"""Commands in comments: `/saltern preview [TARGET]` and the others. Pure.

A command is a comment whose first line begins with `/saltern`. What follows on other lines is for people. Called by
`controller.pull_requests.decision`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

PREFIX = "/saltern"
LONGEST = 200
"""Characters of the line of a command; a longer one is refused."""
_WORD = re.compile(r"[^\s`|<>\\@]+")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


class CommandRefused(Exception):
    """A command that cannot be carried out; the text says what to write instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskPreview:
    """Preview the head (again), or only these minions."""

    target: str = ""
    """A glob of minion ids; empty: all."""
    commit: str = ""
    """Beginning of the head commit that is meant; empty: the one that the author of the comment saw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain:
    """Say all about one state of one minion."""

    minion: str
    state: str
    commit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approve:
    """Take away the violations that may be approved."""

    commit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyHead:
    """Apply the head before the merge, on all minions that it concerns or on some."""

    canary: bool = False
    commit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unapply:
    """Take back what was applied before the merge."""

    commit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    """Which commands there are."""

    commit: str = ""


PullCommand: TypeAlias = AskPreview | Explain | Approve | ApplyHead | Unapply | Help


def is_command(body: str) -> bool:
    """Whether a comment is meant for us."""
    words = _first_line(body)[: len(PREFIX) + 1].split()
    return bool(words) and words[0] == PREFIX


def command_line(body: str) -> str:
    """The line of a command, cut: what is recorded of it."""
    return _first_line(body)[: LONGEST + 1]


def parse(line: str) -> PullCommand:
    """The command of a line. CommandRefused when it is none."""
    if len(line) > LONGEST:
        raise CommandRefused(f"A command has {LONGEST} characters at most.")
    words = line.split()[1:] or ["help"]
    name, arguments = words[0].lower(), words[1:]
    if name not in _PARSERS:
        raise CommandRefused(f"There is no such command.\n\n{HELP}")
    if any(_WORD.fullmatch(word) is None for word in arguments):
        raise CommandRefused("Words of a command have no quotes, back quotes, angle brackets, bars or `@`.")
    commit, rest = _commit_of(arguments)
    return _PARSERS[name](tuple(rest), commit)


def _first_line(body: str) -> str:
    return body.lstrip("\ufeff").partition("\n")[0].strip()


def _commit_of(arguments: list[str]) -> tuple[str, list[str]]:
    """The value of `--commit`, and the other words."""
    if "--commit" not in arguments:
        return "", arguments
    at = arguments.index("--commit")
    value = arguments[at + 1].lower() if at + 1 < len(arguments) else ""
    if _COMMIT.fullmatch(value) is None:
        raise CommandRefused("`--commit` needs the head commit: 7 hexadecimal digits of it or more.")
    return value, [*arguments[:at], *arguments[at + 2 :]]


def _preview(arguments: tuple[str, ...], commit: str) -> PullCommand:
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        raise CommandRefused("`/saltern preview` takes one target at most: a glob of minion ids like `web*`.")
    return AskPreview(target="".join(arguments), commit=commit)


def _explain(arguments: tuple[str, ...], commit: str) -> PullCommand:
    if len(arguments) < 2 or arguments[0].startswith("-"):
        raise CommandRefused(
            "`/saltern explain MINION STATE` takes a minion and the id of a state, or a part of it, as the preview "
            "shows them."
        )
    return Explain(minion=arguments[0], state=" ".join(arguments[1:]), commit=commit)


def _approve(arguments: tuple[str, ...], commit: str) -> PullCommand:
    if arguments:
        raise CommandRefused("`/saltern approve` takes nothing but `--commit`.")
    return Approve(commit=commit)


def _apply(arguments: tuple[str, ...], commit: str) -> PullCommand:
    if arguments not in ((), ("--canary",)):
        raise CommandRefused("`/saltern apply` takes nothing but `--canary` and `--commit`.")
    return ApplyHead(canary=bool(arguments), commit=commit)


def _unapply(arguments: tuple[str, ...], commit: str) -> PullCommand:
    if arguments:
        raise CommandRefused("`/saltern unapply` takes nothing.")
    return Unapply(commit=commit)


def _help(arguments: tuple[str, ...], commit: str) -> PullCommand:
    return Help(commit=commit)


_PARSERS: Mapping[str, Callable[[tuple[str, ...], str], PullCommand]] = {
    "preview": _preview,
    "explain": _explain,
    "approve": _approve,
    "apply": _apply,
    "unapply": _unapply,
    "help": _help,
}

HELP = """\
Commands, for people with write access, in new comments:

- `/saltern preview`: preview the head commit again. `/saltern preview TARGET`: only these minions (a glob).
- `/saltern explain MINION STATE`: all that is known about one state of one minion.
- `/saltern approve`: allow what the policy allows only with an approval, for the head commit.
- `/saltern apply`: apply the head commit, as merged, before the merge, where the policy allows it; `--canary`: on a \
few minions of each change. They hold it until the merge, for a limited time.
- `/saltern unapply`: take that back.
- `/saltern help`: this text.

`--commit SHA` says which head commit is meant; without it, it is the one that the pull request had when you wrote.
"""
