"""A RabbitMQ broker as it is asked and told by rabbitmqctl(8) and rabbitmq-plugins(8).

What it shows is read as JSON, which rabbitmqctl writes since 3.8. Passwords go to it by its standard input, so that
they are in no list of processes. Called by the states and the execution functions. Behaviour:
doc/ref/modules/all/salt.modules.rabbitmq.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from minion.arguments.types import ToCome
from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.plan import Completed, Machine, Reader

_BRINGING = re.compile(r"archive|cmd|file|module|pkg|pkgrepo|rabbitmq_\w+|service|user")
"""State modules that may bring what a question lacks: the programs, the server, a virtual host."""
_WRAPPER = "rabbitmq-script-wrapper"
"""Debian's program of all names: as root it hands its words to a shell, within double quotes."""
_PARTS_OF_SHELL = re.compile(r"[\\$`]")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PROMPT = "Password: "
KINDS = ("configure", "write", "read")
"""What a user may do in a virtual host."""
_WRONG_PASSWORD = "failed to authenticate user"  # noqa: S105  (words of the program)


class RabbitmqCaller(NamedTuple):
    """Arguments that most states have."""

    runas: str | None = None
    """Who runs the programs."""
    to_come: ToCome = frozenset()


@dataclass(frozen=True, slots=True)
class Broker:
    """The broker that the programs reach.

    Args:
        caller: who asks.
    """

    caller: RabbitmqCaller

    def rows(self, machine: Reader, *words: str) -> list[dict[str, Any]]:
        """What a listing shows. Raises StateFailed with rabbitmqctl's words, or as `lacking` does."""
        shown = self.shown(machine, "-q", "--formatter", "json", *words)
        found = json.loads(shown or "[]")
        return found if isinstance(found, list) else [found]

    def shown(self, machine: Reader, *words: str) -> str:
        """What rabbitmqctl prints of a command that only looks. Raises as `rows` does."""
        done = self._asked(machine, "rabbitmqctl", words)
        if done.returncode != 0:
            raise self.lacking(fault(done))
        return done.stdout

    def definitions(self, machine: Reader) -> Mapping[str, Any] | None:
        """All that `export_definitions` has, in one run; None where it has no such command, or more than is kept."""
        done = self._asked(machine, "rabbitmqctl", ("-q", "export_definitions", "-", "--format", "json"))
        try:
            found = json.loads(done.stdout) if done.returncode == 0 else None
        except ValueError:
            return None
        return found if isinstance(found, dict) and "users" in found else None

    def told(self, machine: Machine, *words: str, stdin: str | None = None) -> str:
        """What rabbitmqctl prints of a command that changes something. StateFailed: its words."""
        return self._told(machine, "rabbitmqctl", words, stdin)

    def lets_in(self, machine: Reader, user: str, password: str) -> bool:
        """Whether this is the password of a user. Raises as `rows` does."""
        done = self._asked(machine, "rabbitmqctl", ("-q", "authenticate_user", "--", user), stdin=as_line(password))
        if done.returncode != 0 and _WRONG_PASSWORD not in done.stderr:
            raise self.lacking(fault(done))
        return done.returncode == 0

    def plugins(self, machine: Reader, *, enabled: bool) -> list[str]:
        """Names of the plugins that are there, or of those that are enabled, by others too. Raises as `rows` does."""
        words = ("list", "-m", "-q", *(["-e"] if enabled else []))
        done = self._asked(machine, "rabbitmq-plugins", words)
        if done.returncode != 0:
            raise self.lacking(fault(done))
        return done.stdout.split()

    def switched(self, machine: Machine, verb: str, plugin: str) -> str:
        """What rabbitmq-plugins prints when it enables or disables a plugin. StateFailed: its words."""
        return self._told(machine, "rabbitmq-plugins", (verb, plugin), None)

    def lacking(self, text: str) -> Exception:
        """What to raise where something is not there: it may come in a run under test=True."""
        to_come = self.caller.to_come
        by = next((f"{module} {name}" for module, name in sorted(to_come) if _BRINGING.fullmatch(module)), "")
        if by:
            return ContentUnknown(f"{text}. An earlier state of this run ({by}) may bring it")
        return StateFailed(text)

    def _asked(self, machine: Reader, program: str, words: tuple[str, ...], stdin: str | None = None) -> Completed:
        who, argv = self._user(), self._argv(program, words)
        return machine.query(argv if who is None else ["runuser", "-u", who, "--", *argv], stdin=stdin)

    def _told(self, machine: Machine, program: str, words: tuple[str, ...], stdin: str | None) -> str:
        done = machine.run(self._argv(program, words), runas=self._user(), stdin=stdin)
        if done.returncode != 0:
            raise StateFailed(fault(done))
        return "\n".join(line.removeprefix(_PROMPT) for line in done.stdout.splitlines()).strip()

    def _user(self) -> str | None:
        """Who it is to be, where that is somebody else."""
        runas = self.caller.runas
        return None if runas is None or runas == pwd.getpwuid(os.geteuid()).pw_name else runas

    def _argv(self, program: str, words: tuple[str, ...]) -> list[str]:
        path = shutil.which(program)
        if path is None:
            raise self.lacking(f"Command not found: {program}")
        wrapped = Path(path).resolve().name == _WRAPPER and program == "rabbitmqctl"
        through_shell = wrapped and self._user() is None and os.geteuid() == 0
        return [path, *(map(_quoted, words) if through_shell else words)]


def _quoted(word: str) -> str:
    """A word of which the wrapper's shell makes the same word again; it takes care of double quotes itself."""
    return _PARTS_OF_SHELL.sub(r"\\\g<0>", word)


def as_line(password: str) -> str:
    """A password as rabbitmqctl reads it. StateFailed for one that it would change."""
    if password != password.strip() or not password or "\n" in password:
        raise StateFailed(
            "A password of RabbitMQ cannot be empty, nor begin or end with a space, nor have several lines"
        )
    return f"{password}\n"


def fault(done: Completed) -> str:
    """What a program says of its failure, without the diagnostics of a connection."""
    lines = [line.strip() for line in _COLOUR.sub("", done.stderr).partition("\nMost common reasons")[0].splitlines()]
    said = " ".join(line.removeprefix("Error:").strip() for line in lines if line and line != "Error:")
    return f"RabbitMQ command failed: {said or done.stdout.strip() or f'exit code {done.returncode}'}"


def users(machine: Reader, broker: Broker) -> dict[str, list[str]]:
    """User -> tags. Raises as `Broker.rows` does; so do the others."""
    return {row["user"]: list(row["tags"]) for row in broker.rows(machine, "list_users")}


def vhosts(machine: Reader, broker: Broker) -> list[str]:
    """Names of the virtual hosts."""
    return [row["name"] for row in broker.rows(machine, "list_vhosts", "name")]


def permissions(machine: Reader, broker: Broker, by: str, *words: str) -> dict[str, dict[str, str]]:
    """What each user may in a virtual host, or a user in each: `by` is the column that tells them apart."""
    return {row[by]: {key: row[key] for key in KINDS} for row in broker.rows(machine, *words)}


def policies(machine: Reader, broker: Broker, vhost: str) -> dict[str, dict[str, Any]]:
    """The policies of a virtual host by name, in the shape of Salt's rabbitmq.list_policies."""
    return {
        row["name"]: {
            "pattern": row["pattern"],
            "apply_to": row["apply-to"],
            "definition": row["definition"],
            "priority": str(row["priority"]),
        }
        for row in broker.rows(machine, "list_policies", "-p", vhost)
    }


def upstreams(machine: Reader, broker: Broker) -> dict[str, str]:
    """Upstream of a federation -> its definition, as JSON."""
    rows = broker.rows(machine, "list_parameters")
    return {row["name"]: row["value"] for row in rows if row["component"] == UPSTREAM}


UPSTREAM = "federation-upstream"


def policy_words(
    vhost: str, name: str, pattern: str, definition: str, priority: int | None, apply_to: str | None
) -> list[str]:
    """The command that sets a policy."""
    return [
        "set_policy", "-p", vhost, *(["--priority", str(priority)] if priority else []),
        *(["--apply-to", apply_to] if apply_to else []), "--", name, pattern, definition,
    ]  # fmt: skip


def upstream_definition(given: Mapping[str, Any]) -> dict[str, Any]:
    """What there is of the parameters of an upstream, by the names that RabbitMQ has for them."""
    return {key.replace("_", "-"): value for key, value in given.items() if value}


def set_upstream(machine: Machine, broker: Broker, name: str, definition: Mapping[str, Any]) -> None:
    """Give the federation an upstream. It goes by the standard input, since its address may have a password."""
    whole = {"parameters": [{"component": UPSTREAM, "name": name, "vhost": "/", "value": definition}]}
    broker.told(machine, "-q", "import_definitions", stdin=json.dumps(whole))


def add_user(machine: Machine, broker: Broker, name: str, password: str | None) -> str:
    """Add a user; without a password it can be given one later, and until then is let in by none."""
    import secrets

    said = broker.told(machine, "add_user", "--", name, stdin=as_line(password or secrets.token_urlsafe(32)))
    if password is None:
        try:
            broker.told(machine, "clear_password", "--", name)
        except StateFailed:
            broker.told(machine, "delete_user", "--", name)
            raise
    return said


def join_cluster(machine: Machine, broker: Broker, node: str, *, in_memory: bool) -> str:
    """Have the node of this machine join that of another one; it is stopped meanwhile."""
    broker.told(machine, "stop_app")
    try:
        return broker.told(machine, "join_cluster", *(["--ram"] if in_memory else []), "--", node)
    finally:
        broker.told(machine, "start_app")
