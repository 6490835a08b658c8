"""Salt's own integration tests of minions, run on stock minions at a controller with the gateway.

    python -m tools.oracle.salts_gateway_tests SALT             what speaks of minions and needs nothing of a master
    python -m tools.oracle.salts_gateway_tests SALT PATH ...    some of it: pytest's paths, below tests/pytests; options

SALT is the unpacked source package of a Salt release, as PyPI has it. An environment of its own gets that Salt and what
its tests import (as of `tools/oracle/salts_tests`). The tests start `salt-master` and get what `in_place.py` starts;
`salt`, `salt-key`, `salt-run` and `salt-cp` are Saltern's programs of these names; the others are Salt's.
SALT_TESTS_MASTER=salt leaves all of them Salt's: what fails then, too, fails by itself. As root.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.oracle.salts_tests.__main__ import environment

_ROOT = Path(__file__).resolve().parents[3]
_OURS = ("salt", "salt-key", "salt-run", "salt-cp")
_SALTS = ("salt-minion", "salt-call", "salt-proxy", "salt-ssh", "salt-api", "salt-cloud", "salt-syndic")
CHOSEN = tuple(
    f"integration/{path}"
    for path in (
        *("minion/test_job_return.py", "minion/test_process_name.py", "minion/test_reauth.py"),
        *("minion/test_schedule_large_event.py", "minion/test_start_event.py", "minion/test_return_retries.py"),
        *("minion/test_startup_states.py", "minion/test_process_queue.py"),
        *("modules", "states", "pillar", "grains", "renderers", "files", "loader", "executors", "events", "sdb"),
        *("cli/test_salt_call.py", "cli/test_matcher.py", "cli/test_salt.py", "cli/test_salt_cp.py"),
        "returners",
    )
) + tuple(f"scenarios/{name}" for name in ("multimaster", "blackout", "reauth"))


def main(words: Sequence[str]) -> int:
    """Run the tests; pytest's exit code."""
    if not words or not (Path(words[0]) / "tests/pytests/integration").is_dir():
        sys.exit(__doc__)
    salt = Path(words[0]).resolve()
    python = environment(salt)
    paths = [one if one.startswith("-") else str(salt / "tests/pytests" / one) for one in words[1:] or CHOSEN]
    options = ["-p", "no:cacheprovider", "--run-slow", "--run-destructive", "--core-tests", "--show-capture=no"]
    with tempfile.TemporaryDirectory(prefix="salts-programs-") as name:
        if os.environ.get("SALT_TESTS_MASTER") != "salt":
            _programs(Path(name), python)
            options += ["--scripts-dir", name]
        command: list[str | Path] = [python, "-m", "pytest", *options, "-v", "--tb=short", *paths]
        return subprocess.run(command, cwd=salt, check=False).returncode


def _programs(folder: Path, python: Path) -> None:
    """The programs that the tests start, as files of Python: some give them to an interpreter."""
    commands: dict[str, list[str]] = {name: [str(python), str(python.with_name(name))] for name in _SALTS}
    for name in _OURS:
        code = f"from saltern.salt_programs.{name.replace('-', '_')} import main; main()"
        commands[name] = [sys.executable, "-c", code]
    commands["salt-master"] = [sys.executable, "-m", "tools.oracle.salts_gateway_tests.in_place"]
    for name, command in commands.items():
        path = "" if name in _SALTS else f"os.environ['PYTHONPATH'] = {str(_ROOT)!r}\n"
        text = f"#!{python}\nimport os, sys\n{path}os.execv({command[0]!r}, [*{command!r}, *sys.argv[1:]])\n"
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
