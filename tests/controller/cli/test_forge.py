"""`saltern forge`, against fakes of the forges."""

from __future__ import annotations

import json

import pytest
from forges.all_forges import FAKES, access_lines

from controller.cli.main import run as run_verb


@pytest.fixture(params=FAKES)
def fake(request):
    with FAKES[request.param]() as forge:
        forge.model.project("Org/states", alice="write")
        yield forge


def configure(config_dir, fake):
    access = "\n    ".join(access_lines(fake))
    with (config_dir / "controller").open("a") as file:
        file.write(
            f"\ngitfs_remotes:\n  - /srv/states.git: [{{name: states}}]\nforges:\n  - {access}\n"
            "    projects: {states: Org/states}\n"
        )


def run(capsys, *arguments):
    code = run_verb(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_each_forge_is_checked_without_a_controller(config_dir, fake, capsys):
    configure(config_dir, fake)
    code, out, err = run(capsys, "forge", "check", "-c", str(config_dir), "--out", "json")
    lines = json.loads(out)
    assert code == 0, lines
    assert len(lines) >= 3
    assert all(line["ok"] and line["forge"] == "fake" and line["project"] == "Org/states" for line in lines)
    assert fake.token not in out + err


def test_what_is_missing_is_said(config_dir, fake, capsys):
    configure(config_dir, fake)
    fake.rights.discard("read")
    code, out, err = run(capsys, "forge", "check", "-c", str(config_dir), "fake")
    assert code == 1
    assert "failed" in out
    assert "are missing; `saltern docs forges` says how each is given" in err


def test_projects_are_listed(config_dir, fake, capsys):
    configure(config_dir, fake)
    code, out, _ = run(capsys, "forge", "list", "-c", str(config_dir))
    assert code == 0
    assert out.splitlines()[1].split()[:4] == ["fake", fake.kind, "Org/states", "states"]
    assert fake.requests == []


def test_a_name_that_there_is_not(config_dir, fake, capsys):
    configure(config_dir, fake)
    code, _, err = run(capsys, "forge", "check", "-c", str(config_dir), "Org/state")
    assert code == 1
    assert "did you mean Org/states?" in err


def test_without_forges(config_dir, capsys):
    code, _, err = run(capsys, "forge", "check", "-c", str(config_dir))
    assert code == 1
    assert "no forge is configured" in err


def test_a_forge_without_a_remote(config_dir, capsys):
    with (config_dir / "controller").open("a") as file:
        file.write("\nforges:\n  - {name: hub, kind: github, token: x}\n")
    code, out, err = run(capsys, "forge", "list", "-c", str(config_dir), "--out", "json")
    assert (code, json.loads(out)) == (0, [])
    assert "no remote belongs to hub" in err
    code, _, err = run(capsys, "forge", "check", "-c", str(config_dir))
    assert code == 1
    assert "no remote belongs to a forge" in err
