"""Record what real Salt says of the cases that change a machine: tests/golden/states-machine.json is written anew.

    python -m tools.oracle.machine VENV [FUN ...]

VENV is a virtualenv with Salt 3008. The cases are those of `tools/docs/state_cases.py`, run for real in their
surroundings, as root on Debian; the machine is left as it was. tests/e2e/test_states.py compares.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tools.docs.cases.case import Case
from tools.docs.state_cases import CASES
from tools.docs.states_table import installed, placed, postgresql, run_hooks

RECORDED = Path(__file__).resolve().parents[2] / "tests/golden/states-machine.json"
COMPARED = (
    "acl",
    "apache", "apache_conf", "apache_module", "apache_site",
    "archive", "cron", "debconf", "environ", "git", "group", "host", "ini", "kmod", "locale", "mount", "network", "pip",
    "postgres_database", "postgres_extension", "postgres_group", "postgres_initdb", "postgres_language",
    "postgres_privileges", "postgres_schema", "postgres_tablespace", "postgres_user", "ssh_auth", "ssh_known_hosts",
    "sysctl", "timezone", "user", "virtualenv",
)  # fmt: skip
_INSIDE = Path(__file__).with_name("states_salt.py")


def key_of(case: Case) -> str:
    """A name of the case that stays the same."""
    return json.dumps([case.fun, case.name, case.arguments, case.before, case.files], sort_keys=True)


def plain(value: Any, top: str) -> Any:
    """What Salt or we have said, without what no two runs have in common."""
    if isinstance(value, str):
        text = value.replace(top, "{top}")
        return re.sub(r"\b[0-9a-f]{7,40}\b", "{sha}", re.sub(r"saltern-case-\w{8}", "{folder}", text))
    if isinstance(value, Mapping):
        return {plain(key, top): plain(one, top) for key, one in value.items()}
    return [plain(one, top) for one in value] if isinstance(value, list | tuple) else value


def main(venv: str, wanted: list[str]) -> None:
    """Record these functions, or all."""
    recorded = json.loads(RECORDED.read_text()) if wanted else {}
    cases = [case for case in CASES if case.fun.partition(".")[0] in COMPARED and (not wanted or case.fun in wanted)]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="saltern-case-")))
        folder.chmod(0o755)  # of some cases a server's user has to enter it
        stack.enter_context(installed(sorted({one for case in cases for one in case.needs})))
        command = [f"{venv}/bin/python", "-W", "ignore", str(_INSIDE)]
        salt = stack.enter_context(
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        )
        _said(salt, json.dumps(str(folder / "salt")))
        for number, case in enumerate(cases):
            top = folder / str(number) / "top"
            top.parent.mkdir()
            recorded[key_of(case)] = plain(_asked(salt, case, top), str(top))
            print(case.fun, recorded[key_of(case)]["run"]["result"])  # noqa: T201
        salt.stdin.close()  # type: ignore[union-attr]
    lines = (f"{json.dumps(key)}: {json.dumps(recorded[key])}" for key in sorted(recorded))
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _asked(salt: subprocess.Popen[str], case: Case, top: Path) -> Any:
    whole = placed(case, {"{top}": str(top), "{hostname}": _hostname(), "{postgresql}": postgresql()})
    with run_hooks(whole, top):
        given = {"state": whole.fun, "arguments": {"name": whole.name, **whole.arguments}, "tree": dict(whole.tree)}
        _said(salt, json.dumps({"top": str(top), **given, "grains": dict(whole.grains), "pillar": dict(whole.pillar)}))
        return json.loads(salt.stdout.readline())  # type: ignore[union-attr]


def _said(salt: subprocess.Popen[str], line: str) -> None:
    salt.stdin.write(line + "\n")  # type: ignore[union-attr]
    salt.stdin.flush()  # type: ignore[union-attr]


def _hostname() -> str:
    import os

    return os.uname().nodename


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
