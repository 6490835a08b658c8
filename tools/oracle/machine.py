"""Record what real Salt says of the cases that change a machine: tests/golden/states-machine.json is written anew.

    python -m tools.oracle.machine VENV OLD_VENV [FUN ...]

The virtualenvs are those of `tools/oracle/venvs.py`; the second is for the modules that Salt 3008 has no more. The
cases are those of `tools/docs/state_cases.py`, run for real in their surroundings, as root on Debian; the machine is
left as it was. tests/e2e/test_states.py compares.
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
from tools.docs.states_table import installed, placed, run_hooks, values

RECORDED = Path(__file__).resolve().parents[2] / "tests/golden/states-machine.json"
_COMPARED = """
    acl apache apache_conf apache_module apache_site archive at blockdev composer cron debconf disk docker_container
    docker_image docker_volume environ gem git gpg group host influxdb_continuous_query influxdb_database
    influxdb_retention_policy influxdb_user ini ipset iptables keyboard kmod kubernetes locale logrotate lvm
    memcached monit mount mysql_database mysql_grants mysql_query mysql_user network nftables npm pecl pip
    postgres_cluster postgres_database postgres_extension postgres_group postgres_initdb postgres_language
    postgres_privileges postgres_schema postgres_tablespace postgres_user rabbitmq_plugin rabbitmq_policy
    rabbitmq_upstream rabbitmq_user rabbitmq_vhost redis rsync sqlite3 ssh_auth ssh_known_hosts supervisord sysctl
    timezone user vault vault_secret virtualenv x509 xml
"""
_GIVEN_UP = """
    composer gem memcached monit npm pecl postgres_cluster rsync sqlite3 supervisord xml
"""
COMPARED, GIVEN_UP = _COMPARED.split(), _GIVEN_UP.split()
"""State modules that are compared, and those of them that are in the older release alone."""
_INSIDE = Path(__file__).with_name("states_salt.py")


def key_of(case: Case) -> str:
    """A name of the case that stays the same."""
    return json.dumps([case.fun, case.name, case.arguments, case.before, case.files], sort_keys=True)


def plain(value: Any, top: str) -> Any:
    """What Salt or we have said, without what no two runs have in common."""
    if isinstance(value, str):
        text = (
            value.replace(top, "{top}").replace(str(Path(top).parent), "{top}/..").replace(str(_INSIDE), _INSIDE.name)
        )
        if text.startswith("An exception occurred"):
            text = f"An exception occurred: {text.strip().splitlines()[-1].strip()}"
        return re.sub(r"\b[0-9a-f]{7,64}\b", "{sha}", re.sub(r"saltern-case-\w{8}", "{folder}", text))
    if isinstance(value, Mapping):
        return {plain(key, top): plain(one, top) for key, one in value.items()}
    return [plain(one, top) for one in value] if isinstance(value, list | tuple) else value


def main(venv: str, old: str, wanted: list[str]) -> None:
    """Record these functions, or all."""
    found: dict[str, Any] = {}
    cases = [case for case in CASES if case.fun.partition(".")[0] in COMPARED and (not wanted or case.fun in wanted)]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="saltern-case-")))
        folder.chmod(0o755)  # of some cases a server's user has to enter it
        stack.enter_context(installed(sorted({one for case in cases for one in case.needs})))
        running: dict[str, subprocess.Popen[str]] = {}
        for number, case in enumerate(cases):
            top = folder / str(number) / "top"
            top.parent.mkdir()
            place = old if case.fun.partition(".")[0] in GIVEN_UP else venv
            if place not in running:
                running[place] = stack.enter_context(_started(place, folder / f"salt{len(running)}"))
            found[key_of(case)] = plain(_asked(running[place], case, top), str(top))
            print(case.fun, found[key_of(case)]["run"]["result"], flush=True)  # noqa: T201
        for salt in running.values():
            salt.stdin.close()  # type: ignore[union-attr]
    known = {key_of(case) for case in CASES}
    kept = json.loads(RECORDED.read_text()) if wanted else {}
    recorded = {key: one for key, one in kept.items() if key in known} | found
    lines = (f"{json.dumps(key)}: {json.dumps(recorded[key])}" for key in sorted(recorded))
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _started(venv: str, folder: Path) -> subprocess.Popen[str]:
    command = [f"{venv}/bin/python", "-W", "ignore", str(_INSIDE)]
    salt = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    _said(salt, json.dumps(str(folder)))
    return salt


def _asked(salt: subprocess.Popen[str], case: Case, top: Path) -> Any:
    whole = placed(case, {"{top}": str(top), **values()})
    with run_hooks(whole, top):
        given = {"state": whole.fun, "arguments": {"name": whole.name, **whole.arguments}, "tree": dict(whole.tree)}
        given |= {"top": str(top), "environment": dict(whole.environment), "opts": dict(whole.opts)}
        _said(salt, json.dumps({**given, "grains": dict(whole.grains), "pillar": dict(whole.pillar)}))
        return json.loads(salt.stdout.readline())  # type: ignore[union-attr]


def _said(salt: subprocess.Popen[str], line: str) -> None:
    salt.stdin.write(line + "\n")  # type: ignore[union-attr]
    salt.stdin.flush()  # type: ignore[union-attr]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
