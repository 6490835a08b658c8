"""`saltern adopt` of services of this very machine: whether they run and start at boot goes to the SLS."""

import ctypes
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from init_scripts import without_systemctl
from rig import Rig

NAME = "saltern-adopted"
SCRIPT = Path(f"/etc/init.d/{NAME}")
FLAG = Path(f"/run/{NAME}.runs")
TEXT = f"""#!/bin/sh
### BEGIN INIT INFO
# Provides: {NAME}
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
### END INIT INFO
case "$1" in
  start) touch {FLAG} ;;
  stop) rm -f {FLAG} ;;
  status) test -e {FLAG} || exit 3 ;;
esac
"""
SLS = f"""watched:
  service.running:  # until ticket 7
    - name: {NAME}
    - enable: True
"""
TREE = {
    "states/top.sls": "base:\n  '*': [services]\n",
    "states/services.sls": SLS,
    "states/saltern.yaml": "verify: none\ndrift: {interval: 1s, splay: 0}\n",
    "pillar/top.sls": "{}\n",
}
PR_SET_CHILD_SUBREAPER = 36
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("service") is None, reason="adds an init script: needs root and `service`"
    ),
]


@pytest.fixture
def rig(tmp_path):
    """A controller that may write to its remote, and this machine as its minion with one service."""
    for path, text in TREE.items():
        file = tmp_path / "tree" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    SCRIPT.write_text(TEXT)
    SCRIPT.chmod(0o755)
    remote = str(tmp_path / "rig" / "remote.git")
    options = [{"name": "states"}, {"root": "states"}, {"base": "main"}, {"push_url": remote}]
    # The first process of a container may take seconds to reap an orphan.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        with (
            without_systemctl(),
            Rig(tmp_path / "rig", {"e2e": {}}, tmp_path / "tree", {"gitfs_remotes": [{remote: options}]}) as rig,
        ):
            rig.up()
            yield rig
    finally:
        subprocess.run(["update-rc.d", "-f", NAME, "remove"], check=False, capture_output=True)
        SCRIPT.unlink()
        FLAG.unlink(missing_ok=True)
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0)


def service(*words):
    subprocess.run(words, check=True, capture_output=True)


def starts_at_boot():
    return bool(list(Path("/etc/rc3.d").glob(f"S*{NAME}")))


def adopted(rig):
    """Adopt what drifted and merge it; the SLS as it is then."""
    rig.wait("the drift", lambda: rig.status()["e2e"]["health"] == "Drifted")
    runs = len([each for each in rig.history("e2e") if each["outcome"] == "changed"])
    done = rig.saltern("adopt", "e2e", "--yes", "--out", "json", check=False)
    view = json.loads(done.stdout)
    assert done.returncode == 0, view
    (commit,) = view["commits"]
    rig.git("fetch", "-q", "origin", commit["branch"])
    rig.git("merge", "-q", "--ff-only", "FETCH_HEAD")
    rig.push_head()
    rig.wait_applied(rig.head())
    rig.wait("no drift", lambda: rig.status()["e2e"]["health"] == "Healthy")
    assert len([each for each in rig.history("e2e") if each["outcome"] == "changed"]) == runs, "nothing was changed"
    return (rig.work / "states" / "services.sls").read_text()


def test_a_service_that_somebody_stopped_stays_so_and_the_other_way(rig):
    rig.wait_applied(rig.push("a service"))
    assert FLAG.exists()
    assert starts_at_boot()

    service("service", NAME, "stop")
    assert adopted(rig) == SLS.replace("service.running:", "service.dead:")
    assert not FLAG.exists()

    service("update-rc.d", NAME, "disable")
    assert adopted(rig) == SLS.replace("service.running:", "service.dead:").replace("True", "False")
    assert not starts_at_boot()

    service("service", NAME, "start")
    service("update-rc.d", NAME, "enable")
    assert adopted(rig) == SLS
    assert FLAG.exists()
    assert starts_at_boot()
