"""`saltern init` in folders of its own: what it makes, that it replaces nothing, and what it says when it cannot.

The whole way, with a controller and a minion that joins by the printed line, is in tests/scenarios/test_first_setup.py.
"""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pygit2
import pytest

from controller.cli.main import run
from controller.config.settings import load_settings
from controller.enrolment.tokens import EnrolmentDesk
from controller.setup.first_configuration import configuration_text
from controller.store import Store

SALTERN = [sys.executable, "-P", "-m", "saltern"]


def init(capfd, folder: Path, *words: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of `saltern init` in folders below this one."""
    capfd.readouterr()
    places = ["-c", str(folder / "etc"), "--root-dir", str(folder / "root")]
    code = run(["init", *places, *words])
    return code, *capfd.readouterr()


def files(folder: Path) -> dict[Path, bytes]:
    kept = (folder / "etc/controller", folder / "root/etc", folder / "root/srv")
    return {path: path.read_bytes() for each in kept for path in [each, *each.rglob("*")] if path.is_file()}


def test_all_is_made(tmp_path, capfd):
    code, said, remarks = init(capfd, tmp_path, "--yes", "--address", "controller.example.org", "--count", "3")
    assert code == 0, remarks
    settings = load_settings(tmp_path / "etc")
    key = settings.pki_dir / "controller.key"
    public = key.read_text().split("public: ")[1].split()[0]
    line = f"saltern minion join controller.example.org --key '{public}' --token enrol-"
    assert said.startswith(line)
    assert said.count("\n") == 1
    assert f"start it: saltern controller -c {tmp_path}/etc" in remarks
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "etc/controller").stat().st_mode) == 0o600
    assert run(["controller", "--check", "-c", str(tmp_path / "etc")]) == 0
    with Store(settings.store_url) as store:
        desk = EnrolmentDesk(store=store.enrolment_tokens, limits=settings.limits.stranger, clock=lambda: 0.0)
        assert [(each.minions, each.uses_left) for each in desk.all()] == [("*", 3)]
        assert desk.take(said.split()[-1], "web1", "192.0.2.1", 1.0)


def test_the_example_is_a_commit_that_compiles(tmp_path, capfd):
    init(capfd, tmp_path, "--yes")
    tree = tmp_path / "root/srv/saltern"
    repository = pygit2.Repository(str(tree))
    assert repository.head.shorthand == "main"
    assert not repository.status()
    roots = ["--file-root", str(tree / "states"), "--pillar-root", str(tree / "pillar")]
    assert run(["lint", *roots]) == 0, capfd.readouterr()
    capfd.readouterr()
    assert run(["compile", "--id", "web1", "--highstate", *roots, "--out", "json"]) == 0
    assert f"{tmp_path}/root/etc/saltern-hello" in capfd.readouterr().out


def test_a_second_time_nothing_changes_but_the_token(tmp_path, capfd):
    _, first, _ = init(capfd, tmp_path, "--yes")
    before = files(tmp_path)
    code, second, remarks = init(capfd, tmp_path, "--yes", "--example-tree", str(tmp_path / "another"))
    assert code == 0
    assert files(tmp_path) == before
    assert not (tmp_path / "another").exists()
    assert first.split("--token")[0] == second.split("--token")[0]
    assert first != second
    assert "made:" not in remarks
    assert f"is there: {tmp_path}/etc/controller" in remarks


def test_a_remote_of_ones_own(tmp_path, capfd):
    remote = "https://git.example.org/infra/salt.git"
    code, said, _ = init(capfd, tmp_path, "--yes", "--remote", remote, "--out", "json")
    assert code == 0
    git = load_settings(tmp_path / "etc").trees.git()
    assert [each.url for each in (*git.file_remotes, *git.pillar_remotes)] == [remote, remote]
    assert not (tmp_path / "root/srv").exists()
    found = json.loads(said)
    assert found["join"].endswith(found["token"])
    assert found["running"] is False
    assert str(tmp_path / "etc/controller") in found["made"]


@pytest.mark.parametrize("address", ["/srv/it's: #1", "git@git.example.org:infra/salt.git", "https://[::1]/x.git"])
def test_any_address_is_yaml(tmp_path, address):
    import yaml

    found = yaml.safe_load(configuration_text(address, tmp_path))
    assert found["gitfs_remotes"] == [{address: [{"root": "states"}]}]
    assert found["ext_pillar"] == [{"git": [{f"main {address}": [{"root": "pillar"}, {"env": "base"}]}]}]
    assert found["root_dir"] == str(tmp_path)


def test_nothing_is_done_unless_somebody_says_yes(tmp_path):
    words = ["init", "-c", str(tmp_path / "etc"), "--root-dir", str(tmp_path / "root")]
    done = subprocess.run([*SALTERN, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 64
    assert "--yes" in done.stderr
    assert str(tmp_path / "root/srv/saltern") in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_folder_with_something_else_is_left_alone(tmp_path, capfd):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes").write_text("x")
    code, _, remarks = init(capfd, tmp_path, "--yes", "--example-tree", str(tmp_path / "mine"))
    assert code == 1
    assert "something else" in remarks
    assert "--remote" in remarks
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes"]
    assert not (tmp_path / "etc").exists()


def test_a_configuration_that_is_wrong_is_told_and_stays(tmp_path, capfd):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/controller").write_text("ret_port: many\n")
    code, said, remarks = init(capfd, tmp_path, "--yes")
    assert (code, said) == (1, "")
    assert f"{tmp_path}/etc/controller:1" in remarks
    assert "run this again" in remarks
    assert (tmp_path / "etc/controller").read_text() == "ret_port: many\n"


def test_a_store_that_is_in_use_is_told(tmp_path, capfd):
    from controller.store.exclusive_use import exclusive_use

    init(capfd, tmp_path, "--yes")
    url = load_settings(tmp_path / "etc").store_url
    imported = "from controller.store.exclusive_use import exclusive_use"
    hold = f"{imported}\nwith exclusive_use({url!r}): print('held', flush=True); input()"
    command = [sys.executable, "-c", hold]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
    ) as other:
        assert other.stdout.readline() == b"held\n"
        code, said, remarks = init(capfd, tmp_path, "--yes")
        other.stdin.close()
    assert (code, said) == (1, "")
    assert "another controller" in remarks
    with exclusive_use(url):
        pass
