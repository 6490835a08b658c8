"""Minions with an /etc and services of their own, each in a mount namespace: for states of users and services."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from rig import Rig

from tools.predictions.kinds import SERVICES

_ENTER = 'mount --bind "$1" /etc && mount --bind "$2" "$3" && shift 3 && exec "$@"'
_INIT_SCRIPT = """\
#!/bin/sh
### BEGIN INIT INFO
# Provides: $NAME
# Required-Start:
# Required-Stop:
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
# Short-Description: a service to throw away
### END INIT INFO
state=/etc/predicted-$(basename "$0")
case "$1" in
  start) [ -e "$state" ] || echo started > "$state" ;;
  stop) rm -f "$state" ;;
  restart | reload) echo "$1" > "$state" ;;
  status) [ -e "$state" ] || exit 3 ;;
esac
"""


def can_be_had() -> bool:
    """Whether this process may make such machines."""
    tools = all(shutil.which(name) for name in ("unshare", "systemctl", "service", "useradd"))
    if not tools or os.geteuid() != 0:
        return False
    return subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0


class MachineRig(Rig):
    """A rig of such minions."""

    def etc(self, minion: str) -> Path:
        """What the minion has as /etc."""
        return self.directory / minion / "etc"

    def start_minion(self, minion: str) -> None:
        """Start its agent there."""
        systemctl = Path(shutil.which("systemctl") or "/usr/bin/systemctl").resolve()
        nothing = self.directory / minion / "no-systemctl"
        if not nothing.exists():
            nothing.touch(mode=0o644)
            subprocess.run(["cp", "-a", "/etc", str(self.etc(minion))], check=True)
            for name in SERVICES:
                script = self.etc(minion) / "init.d" / name
                script.write_text(_INIT_SCRIPT.replace("$NAME", name))
                script.chmod(0o755)
        enter = ["unshare", "--mount", "sh", "-c", _ENTER, "sh", str(self.etc(minion)), str(nothing), str(systemctl)]
        self._start(minion, "minion", "-c", str(self.directory / minion), before=enter)
