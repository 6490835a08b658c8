"""A rig whose processes have a wall clock that a test sets. Durations, and the clock that nobody sets, are true.

Run as a program it is `python set_clock.py FILE PROGRAM [ARGUMENTS]...`: the program, whose `time.time` is as many
seconds from the true time as FILE says. Its forks have the same clock.
"""

from __future__ import annotations

import runpy
import sys
import time
from pathlib import Path

from rig import Rig


class SetClockRig(Rig):
    """The controller has a clock of its own, and the minions have one together."""

    def set_clock(self, who: str, seconds: float) -> None:
        """Set the clock of `controller` or of `minions` so many seconds from the true time."""
        file = self._clock(who)
        new = file.with_suffix(".new")
        new.write_text(f"{seconds:g}")
        new.rename(file)

    def _clock(self, who: str) -> Path:
        return self.directory / f"clock-of-{'controller' if who == 'controller' else 'minions'}"

    def _start(self, name: str, *arguments: str, before: tuple[str, ...] = ()) -> None:
        if not self._clock(name).exists():
            self.set_clock(name, 0)
        super()._start(name, *arguments, before=(*before, sys.executable, __file__, str(self._clock(name))))


def _run_with_clock(file: Path, words: list[str]) -> None:
    true_time = time.time
    time.time = lambda: true_time() + float(file.read_text())  # type: ignore[assignment]
    sys.argv = words
    runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    _run_with_clock(Path(sys.argv[1]), sys.argv[2:])
