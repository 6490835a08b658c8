"""nginx on this very machine: installed, configured from a template with pillar values, reloaded when that changes."""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent / "nginx"
URL = "http://127.0.0.1:18480/"
DEADLINE = 60.0
MASTER = Path("/run/nginx.pid")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("apt-get") is None or shutil.which("nginx") is not None,
        reason="installs nginx and removes it: needs root, apt, and a machine without nginx",
    ),
]


class Machine:
    """This machine, with a tree of its own to change."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        (tree / "etc").mkdir()
        (tree / "etc" / "minion").write_text(f"id: e2e\nroot_dir: {tree / 'root'}\n")

    def apply(self, *words: str) -> dict[str, Any]:
        """`state.apply` without a controller; the running dictionary."""
        command = [str(Path(sys.executable).parent / "saltern"), "call", "--local", "-c", str(self.tree / "etc")]
        command += ["--file-root", str(self.tree / "states"), "--pillar-root", str(self.tree / "pillar")]
        done = subprocess.run(
            [*command, "state.apply", *words, "--out", "json"], capture_output=True, text=True, check=False
        )
        try:
            returned = json.loads(done.stdout)["local"]
        except (ValueError, KeyError):
            pytest.fail(f"state.apply gave no result:\n{done.stdout}\n{done.stderr}")
        assert isinstance(returned, dict), returned
        return {f"{one['__id__']} {tag.split('_|-')[0]}": one for tag, one in returned.items()}

    def edit(self, file: str, old: str, new: str) -> None:
        """Change a file of the tree."""
        path = self.tree / file
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    shutil.copytree(HERE, tmp_path / "tree")
    yield Machine(tmp_path / "tree")
    subprocess.run(["service", "nginx", "stop"], check=False, capture_output=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "-qq", "-y", "purge", "nginx", "nginx-light", "nginx-common", "libnginx-mod-http-echo"]
    subprocess.run(command, check=False, capture_output=True, env=quiet)
    Path("/etc/nginx/conf.d/saltern-test.conf").unlink(missing_ok=True)
    shutil.rmtree("/srv/saltern-test", ignore_errors=True)


def _get() -> tuple[str, str]:
    """The page, and the header that the configuration sets."""
    with urllib.request.urlopen(URL, timeout=10) as answer:
        return answer.read().decode(), answer.headers["X-Release"]


def _wait_for_release(release: str) -> str:
    """The page, once the configuration of this release is in force: a reload is not done when its command returns."""
    deadline, seen = time.monotonic() + DEADLINE, ""
    while time.monotonic() < deadline:
        try:
            page, seen = _get()
        except urllib.error.URLError as error:
            page, seen = "", str(error)
        if seen == release:
            return page
        time.sleep(0.05)
    pytest.fail(f"release {release} was never served; last seen: {seen}")


def _failures(results: dict[str, Any]) -> dict[str, str]:
    return {key: one["comment"] for key, one in results.items() if one["result"] is False}


def test_nginx_is_installed_configured_reloaded_and_reverted(machine: Machine) -> None:
    foreseen = machine.apply("test=True")
    assert foreseen["nginx pkg"]["result"] is None
    assert "nginx-light" in foreseen["nginx pkg"]["changes"]
    assert shutil.which("nginx") is None

    first = machine.apply()
    assert _failures(first) == {}
    assert "Hello from e2e" in _wait_for_release("one")
    master = MASTER.read_text()

    again = machine.apply()
    assert _failures(again) == {}
    assert {key: one["changes"] for key, one in again.items() if one["changes"]} == {}

    machine.edit("pillar/site.sls", "X-Release: one", "X-Release: two")
    machine.edit("pillar/site.sls", "greeting: Hello", "greeting: Good evening")
    planned = machine.apply("test=True")
    assert planned["nginx service"]["comment"] == "Service is set to be reloaded"
    changed = machine.apply()
    assert _failures(changed) == {}
    assert changed["nginx service"]["comment"] == "Service reloaded"
    assert "Good evening from e2e" in _wait_for_release("two")
    assert MASTER.read_text() == master, "it was restarted, not reloaded"

    subprocess.run(["service", "nginx", "stop"], check=True, capture_output=True)
    assert _failures(machine.apply()) == {}
    assert "Good evening" in _wait_for_release("two")

    machine.edit("pillar/site.sls", "X-Release: two", "X-Release: one")
    machine.edit("pillar/site.sls", "greeting: Good evening", "greeting: Hello")
    assert _failures(machine.apply()) == {}
    assert "Hello from e2e" in _wait_for_release("one")
