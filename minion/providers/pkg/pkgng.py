"""FreeBSD's package manager: looks with `pkg query` and `pkg rquery`, acts with pkg.

Called through the port `minion.providers.pkg.packages.PackageManager`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minion.machine.plan import Machine, Reader
from minion.providers import commands
from minion.providers.pkg.packages import Available, InstallOptions, Package, PackageTarget, TransactionStep
from minion.providers.pkg.transactions import Transactions, offers

_STEP = re.compile(r"^\t(?P<name>[^\s:]+): (?P<from>\S+)(?: -> (?P<to>\S+))?(?: \[[^\]]*\])?(?: \([^)]*\))?$")
"""What is installed once more has no colon, and is no step: its version stays."""
_PIECE = re.compile(r"[0-9]+|[A-Za-z]+|\*")
_WORDS = {"*": -2, "pl": -1, "alpha": 1, "beta": 2, "pre": 16, "rc": 18}
"""Words that have a place of their own; a letter has that of its number in the alphabet."""


@dataclass(frozen=True, slots=True)
class PkgNg(Transactions):
    """`PackageManager` of FreeBSD."""

    def packages(self, machine: Reader) -> Mapping[str, Package]:
        """What `pkg query` lists."""
        return parse_packages(commands.asked(machine, ["pkg", "query", "-a", "%n\t%v\t%k"]))

    def available(self, machine: Reader, names: Sequence[str], fromrepo: str = "") -> Mapping[str, Available]:
        """What `pkg rquery` says of these names; it fails when there is none of them."""
        for name in names:
            commands.check_name(name)
        if not names:
            return {}
        asked = machine.query(["pkg", "rquery", "-U", *_repository(fromrepo), "%n\t%v", *names])
        versions: dict[str, list[str]] = {}
        for line in asked.stdout.splitlines():
            name, _, version = line.partition("\t")
            versions.setdefault(name, []).append(version)
        return offers(versions, compare)

    def compare(self, left: str, right: str) -> int:
        """Pkg's order."""
        return compare(left, right)

    def refresh(self, machine: Reader, *, older_than: int | None) -> str:
        """`pkg update`, which looks by itself whether there is something new."""
        done = machine.query(["pkg", "update", *(["-f"] if older_than is None else [])])
        return "" if done.returncode == 0 else commands.complaint(done)

    def hold(self, machine: Machine, names: Sequence[str], *, held: bool) -> None:
        """`pkg lock` or `unlock`."""
        for name in names:
            commands.check_name(name)
        verb = "lock" if held else "unlock"
        commands.carry_out(machine, ["pkg", verb, "-y", *names], "holding" if held else "unholding")

    def groups(self, machine: Reader, name: str) -> Sequence[str] | None:
        """Pkg knows no groups."""
        return None

    def _predicted(
        self, machine: Reader, command: Sequence[str], *, gone: bool = False
    ) -> list[TransactionStep] | None:
        verb, *rest = command
        shown = machine.query(["pkg", verb, "-n", *rest])
        # 1 is also how it says that there is something to do.
        return parse_steps(shown.stdout) if shown.returncode in (0, 1) else None

    def _carried_out(self, machine: Machine, command: Sequence[str], doing: str) -> None:
        commands.carry_out(machine, ["pkg", *command], doing)

    def _files(self, paths: Sequence[str]) -> list[str]:
        return ["add", *paths]

    def _install(self, targets: Sequence[PackageTarget], options: InstallOptions) -> list[str]:
        names = (f"{one.name}-{one.version}" if one.version else one.name for one in targets)
        return ["install", "-y", *(["-f"] if options.reinstall else []), *_repository(options.fromrepo), *names]

    def _remove(self, names: Sequence[str], purge: bool) -> list[str]:
        return ["delete", "-y", *names]

    def _upgrade(self, names: Sequence[str], whole: bool) -> list[str]:
        return ["upgrade", "-y", *names]


def parse_packages(text: str) -> dict[str, Package]:
    """The packages in `pkg query` output: name, version and whether it is locked."""
    rows = (line.split("\t") for line in text.splitlines() if line.count("\t") == 2)
    return {row[0]: Package(name=row[0], version=row[1], installed=True, held=row[2] == "1") for row in rows}


def parse_steps(text: str) -> list[TransactionStep]:
    """The steps in what `pkg … -n` lists under its headings, sorted by name."""
    steps: list[TransactionStep] = []
    gone = False
    for line in text.splitlines():
        if line.rstrip().endswith(":") and not line.startswith("\t"):
            gone = "REMOVED" in line or "DELETED" in line or "deinstall" in line.lower()
        match = _STEP.match(line.rstrip())
        if match is None:
            continue
        first, second = match["from"], match["to"]
        old, new = (first, "") if gone else (first, second) if second else ("", first)
        steps.append(TransactionStep(name=match["name"], old=old, new=new))
    return sorted(steps, key=lambda step: step.name)


def compare(left: str, right: str) -> int:
    """-1, 0 or 1: epoch (`,1`), version, port revision (`_1`)."""
    ours, theirs = _split(left), _split(right)
    if ours[0] != theirs[0]:
        return -1 if ours[0] < theirs[0] else 1
    order = _order(ours[1], theirs[1])
    return order or (ours[2] > theirs[2]) - (ours[2] < theirs[2])


def _split(version: str) -> tuple[int, str, int]:
    match = re.fullmatch(r"(.*?)(?:_(\d+))?(?:,(\d+))?", version)
    assert match  # noqa: S101  (every text fits)
    return int(match[3] or 0), match[1], int(match[2] or 0)


def _order(left: str, right: str) -> int:
    """Components between dots and pluses; each a number, then a word with a number of its own."""
    ours, theirs = (re.split(r"[.+]", text) for text in (left, right))
    for one, other in zip(ours, theirs, strict=False):
        first, second = _component(one), _component(other)
        if first != second:
            return -1 if first < second else 1
    return (len(ours) > len(theirs)) - (len(ours) < len(theirs))


def _component(text: str) -> list[int]:
    pieces = []
    for piece in _PIECE.findall(text):
        if piece.isdigit():
            pieces.append(int(piece))
        else:
            pieces.append(_WORDS.get(piece.lower(), ord(piece[0].lower()) - ord("a") + 1))
    if not text[:1].isdigit():
        pieces.insert(0, -1)
    return pieces


def _repository(fromrepo: str) -> list[str]:
    return ["-r", commands.check_repository(fromrepo)] if fromrepo else []
