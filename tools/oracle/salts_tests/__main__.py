"""Salt's own functional tests of states and modules, run against `saltern call --local`.

    python -m tools.oracle.salts_tests SALT            what can run against an outside program
    python -m tools.oracle.salts_tests SALT PATH ...   some of it: pytest's paths, below tests/pytests/functional

SALT is the unpacked source package of a Salt release, as PyPI has it. An environment of its own gets that Salt and what
its tests import. The tests make users and groups and write below /tmp and /etc: run them as root, on a machine to throw
away. SALT_TESTS_PROGRAM names another program: with `salt-call` a test that fails says that it asks what no outside
program can do.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENT = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "saltern-salts-tests"

CHOSEN = (
    *(
        "states/file",
        "states/cmd",
        "states/test_archive.py",
        "states/test_module.py",
        "states/test_slots_documented.py",
    ),
    *("states/test_user.py", "states/test_ssh_auth.py", "states/test_file.py"),
    *("modules/file", "modules/state", "modules/cmd", "modules/pillar", "modules/test_aliases.py"),
    *("modules/test_archive.py", "modules/test_cmdmod.py", "modules/test_data.py", "modules/test_defaults.py"),
    *("modules/test_grains.py", "modules/test_http.py", "modules/test_network.py", "modules/test_saltcheck.py"),
    *("modules/test_saltutil.py", "modules/test_sdb.py", "modules/test_test.py", "modules/test_user.py"),
)
"""Without those that install packages, set the clock, or are of modules that Saltern does not have."""


def environment(salt: Path) -> Path:
    """Python of an environment with Salt and what its tests import; made when it is not there."""
    python = ENVIRONMENT / "bin/python"
    made = ENVIRONMENT / "made"
    if not made.exists():
        venv.create(ENVIRONMENT, with_pip=True)
        wanted = ["-r", str(salt / "requirements/pytest.txt"), "python-gnupg", str(salt)]
        subprocess.run([python, "-m", "pip", "install", "-q", *wanted], check=True)
        made.touch()
    return python


def main(words: Sequence[str]) -> int:
    """Run the tests; pytest's exit code."""
    if words and words[0] in ("-h", "--help"):
        sys.stdout.write(__doc__ or "")
        return 0
    if not words or not (Path(words[0]) / "tests/pytests/functional").is_dir():
        sys.exit("name the folder of Salt's source package: make salt-tests SALT=DIR")
    salt = Path(words[0]).resolve()
    functional = salt / "tests/pytests/functional"
    paths = [str(functional / one) for one in words[1:] or CHOSEN]
    options = [
        "-p",
        "outside_loaders",
        "-p",
        "result_table",
        "-p",
        "no:cacheprovider",
        "--run-slow",
        "--run-destructive",
        "--core-tests",
        "--show-capture=no",
    ]
    program = os.environ.get("SALT_TESTS_PROGRAM", f"{Path(sys.executable).parent}/saltern call")
    variables = {"PYTHONPATH": str(HERE), "SALT_TESTS_PROGRAM": program}
    command = [environment(salt), "-m", "pytest", *options, "-q", "-rN", "--tb=short", *paths]
    return subprocess.run(command, cwd=salt, env=os.environ | variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
