"""What a Salt master makes of its minions: its own command is asked, as an operator would ask.

Only a job of the master does: one that comes by the gateway is run by the part of the minion that is connected there,
whose file client and pillar are the gateway's. It needs neither a shell on the minion nor a second process there
(`salt-call` with the master's address, which takes seconds and memory of each machine), and what runs it is what runs
the master's highstates.

Source: `MinionManager._spawn_minions` in `salt/minion.py`, `show_lowstate` in `salt/modules/state.py`.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from controller.migration.limits import ANSWER_BYTES
from controller.migration.salt_install import SaltInstall, environment
from controller.schema.fleet.comparisons import SaltsSide

_SALT = "import sys; from salt.scripts import salt_main; sys.argv[0] = 'salt'; salt_main()"
TOGETHER = 20
"""Minions of one job."""


class MasterFailed(Exception):
    """The master's command does not run; the text says why."""


def ask_master(install: SaltInstall, config: Path, minions: Sequence[str], timeout: float) -> dict[str, SaltsSide]:
    """Minion -> what the master compiles for it; without those that do not answer. Raises MasterFailed.

    Args:
        install: of Salt.
        config: folder of the master's configuration.
        minions: at most `TOGETHER` ids.
        timeout: seconds that minions have to answer.
    """
    low = _said(install, config, minions, timeout, "state.show_lowstate")
    pillars = _said(install, config, minions, timeout, "pillar.items", "unmask=True")
    # Salt 3007 masks nothing, and refuses the argument.
    older = [each for each in minions if isinstance(low.get(each), list) and not isinstance(pillars.get(each), dict)]
    if older:
        pillars = {**pillars, **_said(install, config, older, timeout, "pillar.items")}
    return _sides(minions, low, pillars)


def read_master(minions: Sequence[str], low: Path, pillar: Path | None) -> dict[str, SaltsSide]:
    """The same from what `salt --static --out json` has printed elsewhere. Raises MasterFailed.

    Args:
        minions: ids that are wanted.
        low: what `state.show_lowstate` gave.
        pillar: what `pillar.items` gave; None: it is not compared.
    """
    return _sides(minions, _read(low), {} if pillar is None else _read(pillar))


def _sides(minions: Sequence[str], low: Mapping[str, Any], pillars: Mapping[str, Any]) -> dict[str, SaltsSide]:
    return {minion: side for minion in minions if (side := _side(minion, low.get(minion), pillars.get(minion)))}


def _read(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > ANSWER_BYTES:
            raise MasterFailed(f"{path} has more than {ANSWER_BYTES >> 20} MiB: give fewer minions at once")
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise MasterFailed(f"{path}: {error}"[:1000]) from None
    if not isinstance(found, dict):
        raise MasterFailed(f"{path} is not what `salt --static --out json` prints")
    return found


def _side(minion: str, low: Any, pillar: Any) -> SaltsSide | None:
    known = pillar if isinstance(pillar, dict) else None
    if isinstance(low, list) and all(isinstance(chunk, dict) for chunk in low):
        return SaltsSide(minion=minion, low=tuple(low), pillar=known)
    if isinstance(low, list):
        return SaltsSide(minion=minion, errors=tuple(map(str, low[:100])), pillar=known)
    return None  # False, or that it did not return


def _said(install: SaltInstall, config: Path, minions: Sequence[str], timeout: float, *words: str) -> Mapping[str, Any]:
    options = ["-c", str(config), "-t", str(max(1, round(timeout))), "--static", "--out", "json", "--no-color"]
    program = [str(install.python), "-s", "-c", _SALT, *options, "-L", ",".join(minions), *words]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            subprocess.run(program, stdout=out, stderr=err, env=environment(), timeout=60 + 4 * timeout, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MasterFailed(f"the Salt master does not answer: {error}"[:1000]) from None
        if out.tell() > ANSWER_BYTES:
            raise MasterFailed(f"the Salt master answers with more than {ANSWER_BYTES >> 20} MiB")
        out.seek(0)
        err.seek(0)
        said, complaint = out.read(), err.read(4096).decode("utf-8", "replace").strip()
    try:
        found = json.loads(said or b"{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or (not found and complaint):
        text = complaint or said[:1000].decode("utf-8", "replace").strip()
        raise MasterFailed(f"the Salt master does not answer: {text or 'nothing is said'}"[:1000])
    return found
