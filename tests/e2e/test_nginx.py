"""nginx on this very machine, by git push: installed, configured from pillar, reloaded when that changes, reverted."""

import json
import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from init_scripts import without_systemctl
from rig import Rig

TREE = Path(__file__).parent / "nginx"
URL = "http://127.0.0.1:18480/"
MASTER = Path("/run/nginx.pid")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("apt-get") is None or shutil.which("nginx") is not None,
        reason="installs nginx and removes it: needs root, apt, and a machine without nginx",
    ),
]


@pytest.fixture
def rig():
    """A controller and this machine as its minion, with the agent as root."""
    folder = Path(tempfile.mkdtemp(prefix="saltern-e2e-"))
    with without_systemctl(), Rig(folder, {"e2e": {}}, TREE) as rig:
        rig.up()
        yield rig
    subprocess.run(["service", "nginx", "stop"], check=False, capture_output=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "-qq", "-y", "purge", "nginx", "nginx-light", "nginx-common", "libnginx-mod-http-echo"]
    subprocess.run(command, check=False, capture_output=True, env=quiet)
    Path("/etc/nginx/conf.d/saltern-test.conf").unlink(missing_ok=True)
    shutil.rmtree("/srv/saltern-test", ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def served(release):
    """The page, when the configuration of this release is in force: a reload is not done when its command returns."""
    try:
        with urllib.request.urlopen(URL, timeout=10) as answer:
            return answer.read().decode() if answer.headers["X-Release"] == release else None
    except (urllib.error.URLError, ConnectionError):
        return None


def states(rig):
    """Results of the newest apply by `id state`."""
    newest = next(run for run in rig.history("e2e") if run["kind"] == "apply")
    view = json.loads(rig.saltern("show", newest["run_id"], "--out", "json").stdout)
    return {" ".join(key.split("_|-")[1::-1]): entry for key, entry in view["states"].items()}


def test_nginx_is_installed_configured_reloaded_and_reverted(rig):
    rig.wait_applied(rig.push("A web server"), patience=300)
    assert "Hello from e2e" in rig.wait("the first release", lambda: served("one"))
    assert "nginx-light" in states(rig)["nginx pkg"]["changes"]
    master = MASTER.read_text()

    rig.git("checkout", "-q", "-b", "evening")
    evening = {"pillar/site.sls": ("X-Release: one", "X-Release: two")}
    rig.push("Good evening", evening, branch="evening")
    asked = ("preview", "--base", "main", "--head", "evening", "--exit-code", "--out", "json")
    shown = rig.wait("the branch", lambda: (done := rig.saltern(*asked, check=False)).returncode == 2 and done)
    assert "Service is set to be reloaded" in shown.stdout
    assert served("one"), "a preview changes nothing"

    rig.push_head("main")
    rig.wait_applied(rig.head())
    rig.wait("the second release", lambda: served("two"))
    changed = states(rig)
    assert changed["nginx service"]["comment"] == "Service reloaded"
    assert changed["nginx pkg"]["changes"] == {}
    assert "nginx-page file" not in changed, "what the push does not touch is not run"
    assert MASTER.read_text() == master, "it was restarted, not reloaded"

    subprocess.run(["service", "nginx", "stop"], check=True, capture_output=True)
    healed = rig.saltern("sync", "e2e", "--whole", check=False)
    assert healed.returncode == 0, healed.stdout + healed.stderr
    rig.wait("it to be started again", lambda: served("two"))

    rig.git("revert", "--no-edit", "HEAD")
    rig.push_head("main")
    rig.wait_applied(rig.head())
    assert "Hello from e2e" in rig.wait("the release from before", lambda: served("one"))
