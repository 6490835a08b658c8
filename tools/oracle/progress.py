"""Record the events that a minion of real Salt with `state_events: True` sends of its states.

    python -m tools.oracle.progress           record tests/golden/events/progress.json
    python -m tools.oracle.progress --check   compare what is recorded; `make oracle` does

The states are those of `tree/progress.sls` beside it. Salt is that of the virtualenv SALT_VENV, as for orchestrations.
tests/scenarios/test_run_events.py has ours run them, and compares.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.oracle.__main__ import salt_venv
from tools.oracle.orchestrations import MINIONS, SaltMaster

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "events" / "progress.json"
TREE = GOLDEN.parent / "tree"
_MINION = MINIONS[0]
_JID = re.compile(r"\b\d{20}\b")
_OF_A_RUN = frozenset(("start_time", "duration", "_stamp"))
"""Fields whose values are those of one run; `ts` is the same as `_stamp`."""
_LISTEN = """
import json, sys
import salt.client, salt.config, salt.utils.event

opts = salt.config.master_config(sys.argv[1])
with salt.utils.event.get_event("master", sock_dir=opts["sock_dir"], opts=opts, listen=True) as events:
    jid = salt.client.LocalClient(mopts=opts).cmd_async(sys.argv[2], "state.sls", ["progress"])
    found = {"tag": ""}
    while found["tag"] != f"salt/job/{jid}/ret/{sys.argv[2]}":
        found = events.get_event(wait=90, full=True)
        print(found["tag"], json.dumps(found["data"], default=str), sep=chr(9), flush=True)
"""


def settled(lines: Sequence[str], minion: str) -> list[dict[str, Any]]:
    """The events of states, without what differs from run to run, in their order.

    Args:
        lines: `TAG JSON` as `state.event` prints them.
        minion: whose they are.
    """
    found = []
    for line in lines:
        tag, _, text = line.partition("\t")
        tag = _JID.sub("JID", tag).replace(minion, "ID")
        if tag.startswith(("salt/job/JID/prog/", "salt/state_result/")):
            found.append({"tag": tag, **_plain(json.loads(text), minion)})
    return found


def _plain(value: Any, minion: str) -> Any:
    if isinstance(value, Mapping):
        return {key: "…" if key in _OF_A_RUN else _plain(one, minion) for key, one in value.items() if key != "ts"}
    if isinstance(value, list):
        return [_plain(one, minion) for one in value]
    return _JID.sub("JID", value).replace(minion, "ID") if isinstance(value, str) else value


def recorded(venv: Path) -> list[dict[str, Any]]:
    """What Salt sends."""
    with tempfile.TemporaryDirectory(prefix="oracle-", dir="/tmp") as name:
        folder = Path(name)
        (folder / "pillar").mkdir()
        (folder / "tree").symlink_to(TREE)
        made = SaltMaster(venv / "bin", folder, minion_options={_MINION: {"state_events": True}})
        try:
            made.start()
            return settled(_run(venv, folder), _MINION)
        finally:
            made.stop([*MINIONS, "master"])


def _run(venv: Path, folder: Path) -> list[str]:
    command = [str(venv / "bin" / "python"), "-c", _LISTEN, str(folder / "etc" / "master"), _MINION]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout.splitlines()


def main() -> int:
    """Record, or with `--check` compare; 1 on a difference."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--salt", type=Path, help="virtualenv that has Salt (default: SALT_VENV, or .cache/oracle)")
    parser.add_argument("--check", action="store_true", help="compare with what is recorded, and write nothing")
    options = parser.parse_args()
    found = recorded(salt_venv(options.salt))
    text = json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if not options.check:
        GOLDEN.write_text(text)
        return 0
    same = text == GOLDEN.read_text()
    sys.stderr.write(f"events of states: {len(found)} compared, {'equal' if same else 'they differ'}\n")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
