"""The grains of this machine, key by key, against those that real Salt collects on it."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from minion.grains import collect

NOT_OURS = {
    "ca_truststore": "which certificates Salt's own HTTP client trusts",
    "package": "how Salt was installed",
    "saltpath": "where Salt is installed",
    "zmqversion": "a library that a masterless call does not load",
}
OF_THE_PROCESS = ("cwd", "path", "pid", "pythonexecutable", "pythonpath", "pythonversion", "saltversion", "systempath")


def test_the_grains_of_this_machine(tmp_path: Path) -> None:
    venv = os.environ.get("SALT_VENV")
    if not venv:
        pytest.skip("SALT_VENV names no virtualenv with Salt (`make oracle` makes one in .cache/oracle)")
    (tmp_path / "minion").write_text(f"id: vm\nroot_dir: {tmp_path}\nfile_client: local\n")
    command = [f"{venv}/bin/salt-call", "--local", "-c", str(tmp_path), "--out", "json", "-l", "quiet", "grains.items"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout)["local"]
    ours = collect(minion_id="vm")
    assert sorted(set(theirs) - set(ours)) == sorted(set(NOT_OURS) & set(theirs))
    assert set(ours) <= set(theirs)
    differing = {key: (theirs[key], ours[key]) for key in ours if ours[key] != theirs[key]}
    assert set(differing) <= set(OF_THE_PROCESS), differing
