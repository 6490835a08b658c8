"""test=True of a run that has the same state twice, then the run itself, for each state function in a fresh root."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.docs.state_cases import CASES

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("apt-get") is None, reason="needs root and apt"),
]

HERE = Path(__file__).parents[2]
IN_A_FRESH_ROOT = """
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
for each in proc dev sys; do mount --rbind "/$each" "$1/root/$each"; done
mount -t tmpfs tmpfs "$1/root/tmp"
exec chroot "$1/root" /bin/sh -c 'cd "$0" && exec "$@"' "$2" "$3" -c "$4" "$5"
"""
ONE_MODULE = """
import sys
from predictions import differences
from tools.docs.state_cases import CASES
from tools.docs.states_table import installed

cases = [case for case in CASES if case.fun.partition(".")[0] == sys.argv[1]]
with installed(sorted({one for case in cases for one in case.needs})):
    wrong = [f"{case.fun}: {one}" for case in cases for one in differences(case)]
sys.exit("\\n".join(wrong) or 0)
"""


@pytest.mark.parametrize("module", sorted({case.fun.partition(".")[0] for case in CASES}))
def test_what_is_foretold_is_what_is_done(tmp_path, module):
    command = ["unshare", "-m", "/bin/sh", "-c", IN_A_FRESH_ROOT, "sh", str(tmp_path), str(HERE)]
    done = subprocess.run(
        [*command, sys.executable, ONE_MODULE, module],
        env={**os.environ, "PYTHONPATH": "tests/rig:."},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
