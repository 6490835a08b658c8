"""Units of systemd that come with Saltern: put in place, enabled and started.

Called by `saltern init` and `saltern minion join` as root, where systemd runs.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

INSTALLED_PROGRAM = "/usr/local/bin/saltern"
"""What the units that come with Saltern start."""

_SECONDS = 120.0
"""For one call of systemctl; a controller is ready when its store is migrated."""


class CannotStart(Exception):
    """A unit could not be put in place or started; the text says why, `hint` what to do."""

    def __init__(self, text: str, hint: str) -> None:
        super().__init__(text)
        self.hint = hint


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemdUnits:
    """The systemd of this machine.

    Args:
        run: its folder, which is there while it runs (sd_booted(3)).
        folders: where units are, the administrator's first.
        shipped: the units that came with this installation.
        program: absolute path of `saltern`.
        systemctl: the program.
    """

    run: Path = Path("/run/systemd/system")
    folders: tuple[Path, ...] = (Path("/etc/systemd/system"), Path("/usr/lib/systemd/system"))
    shipped: tuple[Path, ...] = (
        Path(sys.prefix) / "share/saltern/systemd",
        Path(__file__).resolve().parents[2] / "ops/systemd",
    )
    program: Path = field(default_factory=lambda: Path(sys.prefix) / "bin/saltern")
    systemctl: str = "systemctl"

    @property
    def runs(self) -> bool:
        """Whether this machine was booted with it."""
        return self.run.is_dir()

    def has(self, unit: str) -> bool:
        """Whether a unit is in place."""
        return any((folder / unit).exists() for folder in self.folders)

    def enable(self, unit: str) -> None:
        """Put a unit in place unless it is there, enable it, and start it. CannotStart says why it could not be."""
        if not self.has(unit):
            self._place(unit)
        self._call("daemon-reload", unit)
        self._call("enable", unit, "--now", unit)

    def _place(self, unit: str) -> None:
        source = next((folder / unit for folder in self.shipped if (folder / unit).is_file()), None)
        if source is None:
            looked = ", ".join(str(folder) for folder in self.shipped)
            raise CannotStart(f"{unit} came with no installation here ({looked})", "install the wheel or the package")
        text = source.read_text(encoding="utf-8")
        if not Path(INSTALLED_PROGRAM).exists():
            text = text.replace(INSTALLED_PROGRAM, str(self.program))
            if self.program.is_relative_to("/home") or self.program.is_relative_to("/root"):
                hint = "install it below /opt (docs/installation.md), and run this again"
                raise CannotStart(f"{self.program} lies in a home folder, which the unit does not see", hint)
        try:
            (self.folders[0] / unit).write_text(text, encoding="utf-8")
        except OSError as error:
            raise CannotStart(f"{self.folders[0] / unit}: {error.strerror}", "run this as root") from error

    def _call(self, verb: str, unit: str, *arguments: str) -> None:
        try:
            done = subprocess.run(
                [self.systemctl, verb, *arguments], capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CannotStart(f"systemctl {verb}: {error}", f"look at: journalctl -u {unit}") from error
        if done.returncode:
            said = (done.stderr or done.stdout).strip()[:1000]
            raise CannotStart(f"systemctl {verb} {unit}: {said}", f"look at: journalctl -u {unit}")
