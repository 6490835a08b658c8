"""States of users and groups that their run would make: foretold on a fresh root, then done there, and compared.

Each pair of tests/minion/engine/test_foretold.py has an overlay of this machine's root, in a mount namespace that ends
with it.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

HERE = Path(__file__).parents[2]
MODULE = "tests/minion/engine/test_foretold.py"
TEST = "test_states_of_a_user_and_a_group_that_the_run_would_make"

IN_A_FRESH_ROOT = """
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
for each in proc dev sys; do mount --rbind "/$each" "$1/root/$each"; done
mount -t tmpfs tmpfs "$1/root/tmp"
exec chroot "$1/root" /bin/sh -c 'cd "$0" && exec "$@"' "$2" "$3" -m pytest -q -p no:cacheprovider "$4"
"""


def names():
    """Of the pairs, without the module's imports."""
    text = (HERE / MODULE).read_text()
    body = text.partition("OF_A_USER: dict[str, list[Low]] = {")[2].partition("\n}\n")[0]
    return [line.split('"')[1] for line in body.splitlines() if line.startswith('    "')]


@pytest.mark.parametrize("name", names())
def test_what_is_foretold_of_a_user_is_what_is_done(tmp_path, name):
    command = ["unshare", "-m", "/bin/sh", "-c", IN_A_FRESH_ROOT, "sh"]
    one = f"{MODULE}::{TEST}[{name}]"
    done = subprocess.run(
        [*command, str(tmp_path), str(HERE), sys.executable, one],
        env={**os.environ, "SALTERN_FRESH_ROOT": "1", "PYTHONPATH": "tests/rig"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
