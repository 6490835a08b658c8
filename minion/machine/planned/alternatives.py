"""Groups of alternatives that a run under test=True would have changed by now, in memory.

Part of `minion.machine.planned`: `update-alternatives` performed and asked there (update-alternatives(1)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from minion.machine.plan import Completed
from minion.machine.planned.files import PlannedFiles

_DONE = Completed(returncode=0, stdout="", stderr="")
_FOLDER = "/etc/alternatives"


@dataclass(slots=True)
class _Group:
    link: str = ""
    automatic: bool = True
    value: str = ""
    priorities: dict[str, int] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """As `--query` prints it."""
        lines = [f"Name: {name}", f"Link: {self.link}", f"Status: {'auto' if self.automatic else 'manual'}"]
        lines += [f"Value: {self.value or 'none'}"]
        for path, priority in self.priorities.items():
            lines += ["", f"Alternative: {path}", f"Priority: {priority}"]
        return "".join(f"{line}\n" for line in lines)

    def choose(self) -> None:
        """The best one counts, unless somebody has chosen."""
        if self.automatic or self.value not in self.priorities:
            self.automatic = True
            self.value = max(self.priorities, key=lambda one: self.priorities[one], default="")


class PlannedAlternatives:
    """What is planned, by name."""

    def __init__(self, ask: Callable[[Sequence[str]], Completed], files: PlannedFiles) -> None:
        """Args:
        ask: answers `update-alternatives --query` for the machine itself.
        files: get the links.
        """
        self._ask = ask
        self._files = files
        self._groups: dict[str, _Group] = {}

    def answer(self, argv: Sequence[str]) -> Completed | None:
        """What `--query` says of a group that is planned."""
        name = argv[-1]
        if name not in self._groups:
            return None
        group = self._groups[name]
        if not group.priorities:
            return Completed(returncode=2, stdout="", stderr=f"no alternatives for {name}")
        return Completed(returncode=0, stdout=group.text(name), stderr="")

    def act(self, argv: Sequence[str], _: str) -> Completed:
        """`--install`, `--remove`, `--set` or `--auto`."""
        program, verb, *words = argv
        name = words[1] if verb == "--install" else words[0]
        group = self._group(program, name)
        if verb == "--install":
            path = words[2]
            if self._files.stat(path) is None:
                return Completed(
                    returncode=2, stdout="", stderr=f"update-alternatives: error: alternative path {path} doesn't exist"
                )
            group.link = words[0]
            group.priorities[path] = int(words[3])
        elif verb == "--remove":
            group.priorities.pop(words[1], None)
        elif verb == "--set":
            group.automatic, group.value = False, words[1]
        else:
            group.automatic = True
        group.choose()
        self._groups[name] = group
        self._link(name, group)
        return _DONE

    def _group(self, program: str, name: str) -> _Group:
        if name in self._groups:
            return self._groups[name]
        group, last = _Group(), ""
        asked = self._ask([program, "--query", name])
        for line in asked.stdout.splitlines() if asked.returncode == 0 else ():
            key, _, value = line.partition(": ")
            if key == "Link":
                group.link = value
            elif key == "Status":
                group.automatic = value == "auto"
            elif key == "Value":
                group.value = value
            elif key == "Alternative":
                last = value
            elif key == "Priority":
                group.priorities[last] = int(value)
        return group

    def _link(self, name: str, group: _Group) -> None:
        """The links that stand for the name."""
        middle = f"{_FOLDER}/{name}"
        if self._files.stat(_FOLDER) is None:
            return
        if group.value:
            self._files.symlink(group.value, middle)
            if self._files.stat(group.link) is None:
                self._files.symlink(middle, group.link)
        else:
            for path in (middle, group.link):
                if self._files.stat(path) is not None:
                    self._files.remove(path)
