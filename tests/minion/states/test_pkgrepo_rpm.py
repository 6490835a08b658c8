"""Repositories of dnf and zypper, in a tree of its own: every path of the state is below tmp_path."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine
from minion.machine.plan import Completed, FileStat
from minion.providers.pkg import repo_files

OPTIONS = {"humanname": "Tools for all", "baseurl": "https://rpm.example.org/tools", "gpgcheck": 1, "priority": 20}
WRITTEN = """[tools]
name=Tools for all
baseurl=https://rpm.example.org/tools
gpgcheck=1
priority=20
enabled=1
"""
OTHERS = """# what the image came with

[base]
name = Base
baseurl = https://rpm.example.org/base
    https://mirror.example.org/base

[tools]
# ours
name=Tools for all
mirrorlist=https://rpm.example.org/list
gpgcheck=yes
"""


class Rooted(LocalMachine):
    """The machine with another root; it runs nothing."""

    root: Path
    asked: list[Sequence[str]]

    def _below(self, path: str) -> str:
        assert path.startswith(("/etc/yum", "/etc/zypp", "/usr/bin", "/var/cache")), path
        return f"{self.root}{path}"

    def stat(self, path: str) -> FileStat | None:
        return super().stat(self._below(path))

    def read(self, path: str) -> bytes:
        return super().read(self._below(path))

    def listdir(self, path: str) -> Sequence[str]:
        return super().listdir(self._below(path))

    def write(self, path: str, data: bytes, *, mode: str | None = None) -> None:
        super().write(self._below(path), data, mode=mode)

    def remove(self, path: str) -> None:
        super().remove(self._below(path))

    def query(self, argv: Sequence[str], *, env: Any = None) -> Completed:
        self.asked.append(argv)
        return Completed(returncode=0, stdout="", stderr="")


@pytest.fixture
def machine(tmp_path: Path) -> Rooted:
    for folder in ("usr/bin", "etc/yum.repos.d"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "usr/bin/dnf").touch()
    made = Rooted(sources_port=MemoryFiles({}))
    made.root, made.asked = tmp_path, []
    return made


def _run(machine: Rooted, fun: str, name: str = "tools", *, test: bool = False, **arguments: Any) -> StateResult:
    chunk = Chunk(state="pkgrepo", fun=fun, id=name, name=name, sls="repositories", arguments=arguments)
    engine = StateEngine(machine, test=test)
    prepared = engine.plan(chunk, arguments, watched=False)
    assert prepared is not None
    return engine.act(prepared)


def test_a_repository_comes_changes_and_goes(machine: Rooted) -> None:
    predicted = _run(machine, "managed", test=True, **OPTIONS)
    assert not list((machine.root / "etc/yum.repos.d").iterdir())
    made = _run(machine, "managed", **OPTIONS)
    assert (made.result, made.changes) == (True, {"repo": "tools"})
    assert predicted.changes == made.changes
    assert made.comment == "Configured package repo 'tools'"
    assert (machine.root / "etc/yum.repos.d/tools.repo").read_text() == WRITTEN
    assert "makecache" in machine.asked[-1]
    assert _run(machine, "managed", **OPTIONS).comment == "Package repo 'tools' already configured"
    assert _run(machine, "managed", **{**OPTIONS, "gpgcheck": True}).changes == {}

    change = {**OPTIONS, "priority": None, "disabled": True, "refresh": False}
    predicted = _run(machine, "managed", test=True, **change)
    done = _run(machine, "managed", **change)
    assert done.changes == predicted.changes
    assert done.changes == {"priority": {"old": "20", "new": None}, "enabled": {"old": "1", "new": "0"}}
    assert _run(machine, "absent", test=True).changes == {"repo": "tools"}
    assert _run(machine, "absent").comment == "Removed repo tools"
    assert not (machine.root / "etc/yum.repos.d/tools.repo").exists()
    assert _run(machine, "absent").comment == "Package repo tools is absent"


def test_a_repository_stays_in_the_file_that_it_is_in(machine: Rooted) -> None:
    path = machine.root / "etc/yum.repos.d/all.repo"
    path.write_text(OTHERS)
    given = {"humanname": "Tools for all", "mirrorlist": "https://rpm.example.org/list", "gpgcheck": True}
    assert _run(machine, "managed", **given).comment == "Package repo 'tools' already configured"
    moved = _run(machine, "managed", baseurl="https://rpm.example.org/tools", humanname="Tools for all")
    assert moved.changes == {
        "mirrorlist": {"old": "https://rpm.example.org/list", "new": None},
        "baseurl": {"old": None, "new": "https://rpm.example.org/tools"},
    }
    text = path.read_text()
    assert text.startswith(OTHERS.partition("[tools]")[0])
    assert "# ours" in text
    assert "gpgcheck=yes" in text
    noted = _run(
        machine, "managed", baseurl="https://rpm.example.org/tools", humanname="Tools for all", comments=["new"]
    )
    assert noted.changes == {"comments": {"old": ["ours"], "new": ["new"]}}
    assert _run(machine, "absent").result is True
    assert path.read_text() == OTHERS.partition("[tools]")[0].rstrip() + "\n"


def test_zypper_has_its_own_folder(machine: Rooted) -> None:
    (machine.root / "usr/bin/dnf").unlink()
    (machine.root / "usr/bin/zypper").touch()
    assert "None of the folders" in _run(machine, "managed", **OPTIONS).comment
    (machine.root / "etc/zypp/repos.d").mkdir(parents=True)
    assert _run(machine, "managed", **OPTIONS).result is True
    assert (machine.root / "etc/zypp/repos.d/tools.repo").read_text() == WRITTEN
    (machine.root / "usr/bin/zypper").unlink()
    assert "not implemented on this platform" in _run(machine, "managed", **OPTIONS).comment


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("../x", {}, "Invalid repository id"),
        ("a b", {}, "Invalid repository id"),
        ("tools", {}, "it needs one of baseurl, mirrorlist, metalink"),
        ("tools", {"baseurl": "a:", "metalink": "b:"}, "Only one of baseurl"),
        ("tools", {"baseurl": "a:\n[base]"}, "is one line"),
        ("tools", {"baseurl": "a:", "enabled": True, "disabled": False}, "Only one of enabled/disabled"),
        ("tools", {"copr": "a/b"}, "copr is not supported"),
    ],
)
def test_what_cannot_be_is_refused(machine: Rooted, name: str, arguments: dict[str, Any], said: str) -> None:
    result = _run(machine, "managed", name, **arguments)
    assert result.result is False
    assert said in result.comment


def test_values_may_go_on_in_the_next_line() -> None:
    found = dict(repo_files.sections(OTHERS))
    assert repo_files.options(found["base"])["baseurl"].split() == [
        "https://rpm.example.org/base",
        "https://mirror.example.org/base",
    ]


@pytest.mark.parametrize("program", ["dnf", "zypper"])
def test_the_real_programs_understand_what_is_written(tmp_path: Path, program: str) -> None:
    if shutil.which(program) is None or os.geteuid() != 0:
        pytest.skip(f"needs {program}, and root")
    text = repo_files.with_repository(
        "", "tools", {"name": "Tools", "baseurl": f"file://{tmp_path}", "enabled": "1"}, ["ours"]
    )
    (tmp_path / "repos").mkdir()
    (tmp_path / "repos/tools.repo").write_text(text)
    (tmp_path / "root").mkdir()
    command = {
        "dnf": f"dnf --installroot={tmp_path}/root --setopt=reposdir={tmp_path}/repos --setopt=logdir={tmp_path} "
        f"--setopt=cachedir={tmp_path}/cache --releasever=1 repolist",
        "zypper": f"zypper --root {tmp_path}/root --reposd-dir {tmp_path}/repos --no-refresh repos",
    }[program]
    said = subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout
    assert "tools" in said
    assert "Tools" in said
