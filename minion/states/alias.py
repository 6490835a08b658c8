"""The state module `alias`: where mail for a name of this machine goes, in the file of aliases.

Behaviour: doc/ref/states/all/salt.states.alias. Lines of other names stay as they are. After a change `newaliases` is
called, where there is one.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence

from highstate.records import dataclass
from minion.arguments.types import Texts
from minion.machine.configured import configured
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.states.file.paths import behind


def present(machine: Reader, name: str, *, target: Texts) -> Plan:
    """Mail for the name goes to the target, or to all of several."""
    one_line("alias", name)
    wanted = one_line("target", target)
    if aliases(machine).get(name) == wanted:
        return Plan(comment=f"Alias {name} already present")
    shown = list(target) if len(target) > 1 else wanted
    return Plan(
        changes=(Change(key="alias", reported=name, act=lambda machine: _set(machine, name, wanted)),),
        pending=f"Alias {name} -> {shown} is set to be added",
        done=f"Set email alias {name} -> {shown}",
    )


def absent(machine: Reader, name: str) -> Plan:
    """Mail for the name goes to nobody else."""
    if not aliases(machine).get(name):
        return Plan(comment=f"Alias {name} already absent")
    return Plan(
        changes=(Change(key="alias", reported=name, act=lambda machine: _set(machine, name, "")),),
        pending=f"Alias {name} is set to be removed",
        done=f"Removed alias {name}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasLine:
    """A line of the file of aliases."""

    raw: str
    name: str = ""
    """Empty for a line that is kept as it is."""
    target: str = ""
    note: str = ""
    """The remark behind the target, with the blanks before it."""


def aliases(machine: Reader) -> dict[str, str]:
    """Name -> target of the file of aliases; the last line of a name counts."""
    return {line.name: line.target for line in _lines(machine, _file(machine)) if line.name}


def one_line(what: str, value: str | Sequence[str]) -> str:
    """The text, or the texts of a list, as they stand in the file. StateFailed where that is no line of it."""
    text = value if isinstance(value, str) else ", ".join(value)
    if not text or "\n" in text:
        raise StateFailed(f"{what} can not be an empty string, nor more than a line")
    return text


def _set(machine: Machine, name: str, target: str) -> None:
    """Write the file with one line for the name, where its first one stood; without a target, with none."""
    file = _file(machine)
    lines = _lines(machine, file)
    first = next((line for line in lines if line.name == name), AliasLine(raw=""))
    new = AliasLine(raw=f"{name}: {target}{first.note}")
    kept = [new if line is first else line for line in lines if line.name != name or (line is first and target)]
    text = "".join(f"{line.raw}\n" for line in (kept if first.name or not target else [*kept, new]))
    machine.write(file, text.encode("utf-8", "surrogateescape"))
    if shutil.which("newaliases"):
        done = machine.run(["newaliases"])
        if done.returncode != 0:
            raise StateFailed(f"{file} is written, and newaliases failed: {(done.stderr or done.stdout).strip()}")


def _file(machine: Reader) -> str:
    """The file of aliases itself, where `aliases.file` is a link to it."""
    path = configured(machine, "aliases.file", "/etc/aliases")
    if not isinstance(path, str) or not path.startswith("/"):
        raise StateFailed(f"The option aliases.file must be a path that begins with /, not {path!r}")
    return behind(machine, path)[0]


def _lines(machine: Reader, file: str) -> list[AliasLine]:
    if machine.stat(file) is None:
        return []
    text = machine.read(file).decode("utf-8", "surrogateescape")
    return [_parsed(line) for line in text.splitlines()]


def _parsed(raw: str) -> AliasLine:
    text, mark, _ = raw.partition("#")
    name, colon, target = text.partition(":")
    if not colon or not name.strip() or raw[:1].isspace() or (mark and not text[-1].isspace()):
        return AliasLine(raw=raw)
    note = raw[len(text.rstrip()) :] if mark else ""
    return AliasLine(raw=raw, name=name.strip(), target=target.strip(), note=note)


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
