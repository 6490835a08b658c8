"""The state module `cron`: jobs and variables of a user's crontab.

Behaviour: doc/ref/states/all/salt.states.cron. The form of the crontab is Salt's, so that one that Salt has made is
taken over: what stands above the mark is left alone, each job below it has its identifier in the comment before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from typing import Annotated, TypedDict, Unpack

from minion.arguments.sources import as_sources
from minion.arguments.types import Context, Ignored
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.states.file.diff import diff
from minion.states.file.sources import SourceCheck, of_source
from minion.states.file.sources import template as rendering

MARK = "# Lines below here are managed by Salt, do not edit"
_ID = "SALT_CRON_IDENTIFIER:"
_OFF = "#DISABLED#"
_SPECIALS = ("@reboot", "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")


@dataclass(frozen=True, slots=True, kw_only=True)
class CronJob:
    """One line that runs a command."""

    command: str
    when: tuple[str, ...]
    """Five fields, or one such as `@daily`."""
    identifier: str | None = None
    comment: str | None = None
    disabled: bool = False

    def is_for(self, command: str, identifier: str | None) -> bool:
        """Whether it is the job that a state means: by its identifier, where both have one, else by its command."""
        if self.identifier is not None and identifier is not None:
            return self.identifier == identifier or (self.command == command and self.identifier == "NO ID SET")
        return self.command == command

    def text(self) -> str:
        """Its lines."""
        lines = []
        if self.comment is not None or self.identifier is not None:
            said = " " + self.comment.replace("\n", "\n# ") if self.comment else ""
            lines.append(f"#{said}" + (f" {_ID}{self.identifier}" if self.identifier else ""))
        lines.append(f"{_OFF if self.disabled else ''}{' '.join(self.when)} {self.command}")
        return "".join(f"{line}\n" for line in lines)


@dataclass(kw_only=True)
class Tab:
    """A crontab: what is not ours, then variables and jobs."""

    above: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    jobs: list[CronJob] = field(default_factory=list)

    def text(self) -> str:
        """The whole crontab; plain jobs before special ones, as Salt writes them."""
        lines = [f"{line}\n" for line in [*self.above, MARK]]
        lines += [f"{name}={value or chr(34) * 2}\n" for name, value in self.variables.items()]
        ordered = [job for job in self.jobs if len(job.when) > 1] + [job for job in self.jobs if len(job.when) == 1]
        return "".join(lines) + "".join(job.text() for job in ordered)


def present(
    machine: Reader,
    name: str,
    *,
    user: str = "root",
    minute: str = "*",
    hour: str = "*",
    daymonth: str = "*",
    month: str = "*",
    dayweek: str = "*",
    comment: str | None = None,
    commented: bool = False,
    identifier: str | None = None,
    special: str | None = None,
) -> Plan:
    """A job is in the crontab, with these times. `random` is chosen once, from the name: a plan has no dice."""
    command = _command(name)
    key = command if identifier is None else identifier
    tab = read_tab(machine, user)
    old = next((job for job in tab.jobs if job.is_for(command, key)), None)
    when = (
        _special(special)
        if special is not None
        else _times((minute, hour, daymonth, month, dayweek), key, () if old is None else old.when)
    )
    job = CronJob(
        command=command,
        when=when,
        identifier=key,
        comment=(None if old is None else old.comment) if comment is None else comment,
        disabled=commented,
    )
    if old is not None and replaced(old, identifier=key) == job and old.identifier is not None:
        return Plan(comment=f"Cron {command} already present")
    tab.jobs = [job if one is old else one for one in tab.jobs] if old is not None else [*tab.jobs, job]
    words = ("added", f"Cron {command} added to {user}'s crontab")
    if old is not None:
        words = ("updated", f"Cron {command} updated")
    return _plan(user, command, tab, f"Cron {command} is set to be {words[0]}", words[1])


def absent(
    machine: Reader, name: str, *, user: str = "root", identifier: str | None = None, special: str | None = None
) -> Plan:
    """No such job is in the crontab."""
    command = _command(name)
    key = command if identifier is None else identifier
    tab = read_tab(machine, user)
    when = None if special is None else _special(special)
    left = [job for job in tab.jobs if not job.is_for(command, key) or when not in (None, job.when)]
    if len(left) == len(tab.jobs):
        return Plan(comment=f"Cron {command} already absent")
    tab.jobs = left
    done = f"Cron {command} removed from {user}'s crontab"
    return _plan(user, command, tab, f"Cron {command} is set to be removed", done)


def env_present(machine: Reader, name: str, *, value: str | None = None, user: str = "root") -> Plan:
    """A variable is set for the jobs."""
    tab = read_tab(machine, user)
    wanted = value or ""
    old = tab.variables.get(name)
    if old is not None and old.strip('"') == wanted.strip('"'):
        return Plan(comment=f"Cron env {name} already present")
    tab.variables[name] = wanted
    words = ("added", f"Cron env {name} added to {user}'s crontab")
    if old is not None:
        words = ("updated", f"Cron env {name} updated")
    return _plan(user, name, tab, f"Cron env {name} is set to be {words[0]}", words[1])


def env_absent(machine: Reader, name: str, *, user: str = "root") -> Plan:
    """A variable is not set for the jobs."""
    tab = read_tab(machine, user)
    if name not in tab.variables:
        return Plan(comment=f"Cron env {name} already absent")
    del tab.variables[name]
    done = f"Cron env {name} removed from {user}'s crontab"
    return _plan(user, name, tab, f"Cron env {name} is set to be removed", done)


class _FileUnused(TypedDict, total=False):
    """Arguments of Salt's cron.file that are ignored or refused."""

    backup: Annotated[Value, Ignored("crontab(1) keeps no copies")]


def file(
    machine: Reader,
    name: str,
    *,
    source_hash: str | None = None,
    source_hash_name: str | None = None,
    user: str = "root",
    template: str | None = None,
    context: Context | None = None,
    defaults: Context | None = None,
    replace: bool = True,
    saltenv: str = "base",
    **_: Unpack[_FileUnused],
) -> Plan:
    """The whole crontab of the user is what the source `name` holds; with `replace` false only where there is none."""
    tab = _crontab(machine, user)
    if tab and not replace:
        return Plan(comment=f"User {user} already has a crontab. No changes made")
    check = SourceCheck(source_hash_name=source_hash_name or "")
    rendered = rendering(template, context, defaults, {"name": name, "user": user})
    data = of_source(machine, as_sources(name), saltenv, rendered, source_hash, check)
    if data == tab.encode():
        return Plan(comment=f"Crontab for user {user} is in the correct state")
    return Plan(
        changes=(Change(key="diff", reported=diff(tab.encode(), data), act=_write(user, data.decode())),),
        pending=f"Crontab for user {user} is set to be updated",
        done=f"Crontab for user {user} was updated",
    )


def read_tab(machine: Reader, user: str) -> Tab:
    """The user's crontab; an empty one when there is none."""
    return parse_tab(_crontab(machine, user))


def _crontab(machine: Reader, user: str) -> str:
    asked = machine.query(["crontab", "-u", user, "-l"])
    if asked.returncode == 127:
        raise StateFailed("There is no crontab program: install the package cron")
    if asked.returncode != 0 and "no crontab for" not in asked.stderr:
        raise StateFailed(f"The crontab of {user} cannot be read: {asked.stderr.strip() or asked.stdout.strip()}")
    return asked.stdout if asked.returncode == 0 else ""


def parse_tab(text: str) -> Tab:
    """The parts of a crontab."""
    tab, comment, identifier, ours = Tab(), None, None, False
    for line in text.splitlines():
        if line == MARK:
            ours = True
            continue
        if not ours:
            tab.above.append(line)
            continue
        bare = line.removeprefix(_OFF)
        if line.startswith("#") and bare == line:
            said, found, key = line.lstrip("# ").partition(_ID)
            identifier = key if found else identifier
            said = said.rstrip() if found else said
            comment = said if comment is None else f"{comment}\n{said}"
            continue
        name, equals, value = bare.partition("=")
        if equals and name and " " not in name:
            tab.variables[name] = value
        elif (job := _job(bare, identifier, comment or None, disabled=bare != line)) is not None:
            tab.jobs.append(job)
            comment = identifier = None
    return tab


def _job(line: str, identifier: str | None, comment: str | None, *, disabled: bool) -> CronJob | None:
    fields = line.split(None, 1) if line.startswith("@") else line.split(None, 5)
    if len(fields) not in (2, 6):
        return None
    return CronJob(
        command=fields[-1], when=tuple(fields[:-1]), identifier=identifier, comment=comment, disabled=disabled
    )


def _plan(user: str, what: str, tab: Tab, pending: str, done: str) -> Plan:
    return Plan(changes=(Change(key=user, reported=what, act=_write(user, tab.text())),), pending=pending, done=done)


def _write(user: str, text: str) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        done = machine.run(["crontab", "-u", user, "-"], stdin=text)
        if done.returncode != 0:
            raise StateFailed(f"The crontab of {user} failed to commit with error {done.stderr.strip()}")

    return act


def _command(name: str) -> str:
    command = name.strip()
    if not command or "\n" in command:
        raise StateFailed(f"A cron job is one line that is not empty, not {name!r}")
    return command


def _special(special: str) -> tuple[str, ...]:
    text = special.lower()
    if text not in _SPECIALS:
        raise StateFailed(f"special can be {', '.join(_SPECIALS)}, not {special!r}")
    return (text,)


def _times(fields: tuple[str, ...], key: str, there: tuple[str, ...]) -> tuple[str, ...]:
    """The fields; one that is `random` stays the number that is there."""
    import hashlib

    spans = ((0, 60), (0, 24), (1, 28), (1, 12), (0, 7))
    times = []
    for index, one in enumerate(fields):
        text = one.lower()
        if text == "random" and len(there) == len(fields) and there[index].isdigit():
            text = there[index]
        elif text == "random":
            low, many = spans[index]
            dice = int.from_bytes(hashlib.sha256(f"{index} {key}".encode()).digest()[:4], "big")
            text = str(low + dice % many)
        if not text or any(c.isspace() for c in text):
            raise StateFailed(f"{one!r} is no field of a crontab: write *, a number, 1-5, */10 or 1,2")
        times.append(text)
    return tuple(times)


STATES: Mapping[str, StateFunction] = {
    "absent": absent,
    "env_absent": env_absent,
    "env_present": env_present,
    "file": file,
    "present": present,
}
