"""The program `helm`: what it is told, and what it says.

Called by the states and the execution functions. Values go to it by its standard input, so that they are in no list of
processes. Behaviour: the arguments of saltext-helm; https://helm.sh/docs/helm.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from minion.arguments.types import Map, Texts
from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.kubernetes.sources import ObjectSource, documents

_BRINGING = re.compile(r"archive|cmd|file|helm|kubernetes|module|pkg|pkgrepo")
"""State modules that may bring what a question lacks: the program, a kubeconfig, a chart, a repository."""
_REACHING = ("kube",)
"""Beginnings of the flags that say which cluster: all commands have them."""


class HelmFlags(NamedTuple):
    """Flags of the program, with or without `--`."""

    namespace: str | None = None
    flags: Texts = ()
    kvflags: Map = {}  # noqa: RUF012  (a default of a NamedTuple, which nobody changes)

    def words(self) -> list[str]:
        """As the command line has them."""
        return [
            *(["--namespace", self.namespace] if self.namespace else []),
            *(_dashed(flag) for flag in self.flags),
            *(word for key, value in self.kvflags.items() for word in _pair(key, value)),
        ]

    def of_cluster(self) -> HelmFlags:
        """Those alone that say which cluster and which namespace."""
        return HelmFlags(
            namespace=self.namespace,
            flags=tuple(each for each in self.flags if each.lstrip("-").startswith(_REACHING)),
            kvflags={key: value for key, value in self.kvflags.items() if str(key).lstrip("-").startswith(_REACHING)},
        )


def _dashed(flag: str) -> str:
    return flag if flag.startswith("--") else f"--{flag}"


def _pair(key: Any, value: Any) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [word for one in values for word in (_dashed(str(key)), str(one))]


class HelmProgram:
    """The program, where it is."""

    def __init__(self, to_come: Collection[tuple[str, str]] = ()) -> None:
        """Raises StateFailed where there is none; ContentUnknown where the run may bring it."""
        self._to_come = to_come
        if shutil.which("helm") is None:
            raise self.lacking("There is no helm: install the program")

    def look(self, machine: Reader, words: Sequence[str], *, stdin: str | None = None) -> str:
        """What a command that changes nothing prints. StateFailed: its error."""
        done = machine.query(["helm", *words], stdin=stdin)
        if done.returncode != 0:
            raise self.lacking(fault(done))
        return done.stdout

    def found(self, machine: Reader, words: Sequence[str], missing: str) -> Any:
        """The JSON that a command prints; None where its error has the text `missing`."""
        done = machine.query(["helm", *words, "--output", "json"])
        if done.returncode == 0:
            return parsed(done.stdout)
        if missing in done.stderr:
            return None
        raise self.lacking(fault(done))

    def run(self, machine: Machine, words: Sequence[str], *, stdin: str | None = None) -> str:
        """What a command prints. StateFailed: its error."""
        done = machine.run(["helm", *words], stdin=stdin)
        if done.returncode != 0:
            raise StateFailed(fault(done))
        return done.stdout

    def lacking(self, text: str) -> Exception:
        """What to raise where something is not there: it may come in a run under test=True."""
        by = next((f"{module} {name}" for module, name in sorted(self._to_come) if _BRINGING.fullmatch(module)), "")
        if by:
            return ContentUnknown(f"{text}. An earlier state of this run ({by}) may bring it")
        return StateFailed(text)


def parsed(text: str) -> Any:
    """JSON of the program."""
    try:
        return json.loads(text)
    except ValueError:
        raise StateFailed(f"helm printed no JSON: {text[:200]}") from None


def fault(done: Completed) -> str:
    """What the program says of its failure."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    return lines[-1].removeprefix("Error: ") if lines else done.stderr.strip()[-300:] or f"exit code {done.returncode}"


def values_text(machine: Reader, given: Any, saltenv: str) -> str | None:
    """The values of mappings and files, later ones over earlier ones, as JSON; None where none are given."""
    parts = given if isinstance(given, list | tuple) else [given] if given else []
    made: dict[str, Any] = {}
    for part in parts:
        if isinstance(part, Mapping):
            made = _over(made, part)
        else:
            for one in documents(machine, ObjectSource(source=str(part), saltenv=saltenv)):
                made = _over(made, one)
    return json.dumps(made, default=str) if parts else None


def _over(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    both = {key: _over(old[key], value) for key, value in new.items() if _are_mappings(old.get(key), value)}
    return {**old, **new, **both}


def _are_mappings(one: Any, other: Any) -> bool:
    return isinstance(one, Mapping) and isinstance(other, Mapping)
