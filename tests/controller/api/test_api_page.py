"""docs/api.md: its examples are run against a controller, and its tables are those of the code."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
from pathlib import Path
from typing import get_args

import pytest
from api_ports import AUTHORITY, token_of, with_port

from controller.api import encoding
from controller.config.settings import load_settings
from controller.schema.errors import ErrorKind
from controller.schema.fleet.listings import RevisionPage
from controller.schema.fleet.minion_pages import MinionPage, MinionPageQuery

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "api.md").read_text()


@pytest.mark.skipif(shutil.which("curl") is None, reason="the examples are of curl")
def test_the_examples_are_answered(desk, config_dir, serve_desk):
    async def minion_page(query):
        assert (query.health, query.limit) == ("Failed,Degraded", 50)
        return MinionPage(minions=(), total=0, offset=0, at=1.0)

    async def revisions(query):
        assert (query.text, query.limit) == ("nginx", 20)
        return RevisionPage(revisions=(), total=0, offset=0)

    desk.minion_page, desk.revisions = minion_page, revisions
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with_port(config_dir, port, "api_roles: {operator: [olga]}")
    AUTHORITY.cert_pem.write_to_path(str(config_dir / "ca.crt"))
    commands = re.findall(r"^\$ (curl .*)$", PAGE, flags=re.MULTILINE)
    assert len(commands) == 5
    with serve_desk(desk, load_settings(config_dir)) as served:
        env = {"SALTERN_TOKEN": token_of(served, "olga"), "PATH": "/usr/bin:/bin"}
        answers = []
        for command in commands:
            here = command.replace("saltern.example.org:8443", f"127.0.0.1:{port}")
            done = subprocess.run(
                ["bash", "-c", here], cwd=config_dir, env=env, capture_output=True, text=True, check=False
            )
            answers.append(json.loads(done.stdout or (config_dir / "openapi.json").read_text()))
    assert answers[0]["user"] == "olga"
    assert answers[1] == ["web1", "web2"]
    assert answers[2] == {"minions": [], "total": 0, "offset": 0, "at": 1.0}
    assert answers[3] == {"revisions": [], "total": 0, "offset": 0}
    assert answers[4]["openapi"].startswith("3.1")
    assert desk.users == ["olga"]


def test_the_errors_are_the_codes():
    rows = re.findall(r"^\| (\d{3}) \| (.*?) \|", PAGE, flags=re.MULTILINE)
    told = {kind: int(status) for status, kinds in rows if status != "413" for kind in re.findall(r"`(.+?)`", kinds)}
    assert set(told) == set(get_args(ErrorKind))
    assert told == encoding._STATUS


def test_the_parameters_of_a_page_of_minions_are_the_codes():
    section = PAGE.partition("## Minions")[2].partition("## ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`(\w+)`", " ".join(cells))) == set(MinionPageQuery.__struct_fields__)
