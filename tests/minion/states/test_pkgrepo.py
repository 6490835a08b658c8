"""Repositories of apt, in a tree of its own: every path of the state is below tmp_path."""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine
from minion.machine.plan import Completed, FileStat
from minion.providers.pkg import apt_sources
from minion.states.pkgrepo.key import armoured, dearmoured

LINE = "deb [arch=amd64] https://apt.example.org/debian stable main extra"
BINARY = bytes([0x99, 1, 2, 3]) * 40
KEY = armoured(BINARY)


@dataclass(kw_only=True)
class RootedMachine(LocalMachine):
    """The machine with another root for /etc/apt; it runs nothing."""

    root: Path
    web: Mapping[str, bytes] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)

    def _below(self, path: str) -> str:
        assert path.startswith("/etc/apt"), path
        return f"{self.root}{path}"

    def stat(self, path: str) -> FileStat | None:
        # A prediction looks at the folders above a path as well: those of the real machine.
        return super().stat(self._below(path) if path.startswith("/etc/apt") else path)

    def read(self, path: str) -> bytes:
        return super().read(self._below(path))

    def listdir(self, path: str) -> Sequence[str]:
        return super().listdir(self._below(path))

    def write(self, path: str, data: bytes, *, mode: str | None = None) -> None:
        super().write(self._below(path), data, mode=mode)

    def mkdir(self, path: str, *, parents: bool = False, mode: str | None = None) -> None:
        Path(self._below(path)).mkdir(parents=True, exist_ok=True)

    def remove(self, path: str) -> None:
        super().remove(self._below(path))

    def run(self, argv: Sequence[str] | str, **options: Any) -> Completed:
        raise AssertionError(argv)

    def fetch(self, url: str, **options: Any) -> bytes | None:
        self.fetched.append(url)
        return self.web.get(url)


Run = Callable[..., StateResult]


@pytest.fixture
def machine(tmp_path: Path) -> RootedMachine:
    if not Path("/usr/bin/apt-get").exists():
        pytest.skip("apt is not here")
    (tmp_path / "etc/apt/sources.list.d").mkdir(parents=True)
    (tmp_path / "etc/apt/sources.list").write_text("# Debian\ndeb http://deb.example.org/debian bookworm main\n")
    web = {"https://apt.example.org/key.asc": KEY, "https://apt.example.org/page": b"<html>"}
    return RootedMachine(sources_port=MemoryFiles({"base": {"keys/k.gpg": BINARY}}), root=tmp_path, web=web)


@pytest.fixture
def run(machine: RootedMachine) -> Run:
    def go(fun: str, name: str = LINE, *, test: bool = False, **arguments: Any) -> StateResult:
        given = {"refresh": False, **arguments} if fun == "managed" else arguments
        chunk = Chunk(state="pkgrepo", fun=fun, id="x", name=name, sls="s", arguments=given)
        engine = StateEngine(machine, test=test)
        prepared = engine.plan(chunk, given, watched=False)
        assert prepared is not None
        return engine.act(prepared)

    return go


def text(machine: RootedMachine, path: str) -> str:
    return Path(f"{machine.root}/etc/apt/{path}").read_text()


@pytest.mark.parametrize("file", ["/etc/apt/sources.list.d/x.list", "/etc/apt/sources.list.d/x.sources", None])
def test_a_repository_comes_stays_and_goes(run: Run, machine: RootedMachine, file: str | None) -> None:
    pending = run("managed", file=file, test=True)
    assert (pending.result, pending.changes) == (None, {"repo": LINE})
    assert "example.org/debian stable" not in text(machine, "sources.list")
    done = run("managed", file=file)
    assert (done.result, done.changes, done.comment) == (True, {"repo": LINE}, f"Configured package repo '{LINE}'")
    again = run("managed", file=file)
    assert (again.result, again.changes, again.comment) == (True, {}, f"Package repo '{LINE}' already configured")
    assert run("absent", test=True).changes == {"repo": LINE}
    gone = run("absent")
    assert (gone.result, gone.comment) == (True, f"Removed repo {LINE}")
    assert run("absent").comment == f"Package repo {LINE} is absent"
    assert text(machine, "sources.list") == "# Debian\ndeb http://deb.example.org/debian bookworm main\n"
    assert not list((machine.root / "etc/apt/sources.list.d").iterdir())


def test_what_differs_is_changed_where_it_stands(run: Run, machine: RootedMachine) -> None:
    line = "deb http://deb.example.org/debian/ bookworm main contrib"
    done = run("managed", line, file="/etc/apt/sources.list.d/other.list")
    assert done.changes == {"line": {"old": "deb http://deb.example.org/debian bookworm main", "new": line}}
    assert text(machine, "sources.list") == f"# Debian\n{line}\n"
    off = run("managed", line, disabled=True)
    assert off.changes["line"]["new"] == f"# {line}"
    assert run("managed", line, disabled=True).changes == {}
    assert run("managed", line, enabled=True).changes["line"]["new"] == line


def test_clean_file_leaves_one_line(run: Run, machine: RootedMachine) -> None:
    path = "/etc/apt/sources.list.d/a.list"
    (machine.root / path[1:]).write_text(f"deb http://old.example.org/ x main\n{LINE}\n")
    assert run("managed", file=path, clean_file=True).changes
    assert text(machine, "sources.list.d/a.list") == f"{LINE}\n"
    assert run("managed", file=path, clean_file=True).changes == {}


def test_a_key_belongs_to_its_repository(run: Run, machine: RootedMachine) -> None:
    pending = run("managed", key_url="https://apt.example.org/key.asc", test=True)
    assert pending.changes["key"] == "/etc/apt/keyrings/key.asc"
    assert machine.fetched == []
    assert run("managed", key_url="https://apt.example.org/key.asc").result is True
    assert "[arch=amd64 signed-by=/etc/apt/keyrings/key.asc]" in text(machine, "sources.list")
    assert text(machine, "keyrings/key.asc") == KEY.decode()
    assert run("managed", key_url="https://apt.example.org/key.asc").changes == {}
    assert machine.fetched == ["https://apt.example.org/key.asc"]


def test_keys_in_other_forms(run: Run, machine: RootedMachine) -> None:
    line = "deb [signed-by=/etc/apt/keyrings/b.gpg] https://b.example.org stable main"
    assert run("managed", line, key_text=KEY.decode()).result is True
    assert Path(f"{machine.root}/etc/apt/keyrings/b.gpg").read_bytes() == BINARY
    assert run("managed", line, key_text=KEY.decode()).changes == {}
    assert run("managed", key_url="salt://keys/k.gpg").result is True
    assert Path(f"{machine.root}/etc/apt/keyrings/k.gpg").read_bytes() == BINARY


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("http://x", {}, "is no repository"),
        (LINE, {"key_url": "https://apt.example.org/page"}, "is no OpenPGP public key"),
        (LINE, {"key_url": "https://apt.example.org/none"}, "is not there"),
        (LINE, {"key_url": "salt://none"}, "The key salt://none is not there"),
        (LINE, {"keyid": "ABCD1234", "keyserver": "keys.example.org"}, "16 digits at least"),
        (LINE, {"file": "relative.list"}, "file must be an absolute path"),
        (LINE, {"file": "/etc/apt/x.conf"}, "file must be an absolute path"),
        (LINE, {"ppa": "a/b"}, "ppa is not supported"),
    ],
)
def test_what_is_refused(run: Run, machine: RootedMachine, name: str, arguments: Any, said: str) -> None:
    before = text(machine, "sources.list")
    result = run("managed", name, **arguments)
    assert result.result is False
    assert said in result.comment
    assert text(machine, "sources.list") == before


def test_a_stanza_for_several_is_let_be(run: Run, machine: RootedMachine) -> None:
    stanza = "Types: deb\nURIs: https://apt.example.org/debian\nSuites: stable testing\nComponents: main\n"
    (machine.root / "etc/apt/sources.list.d/d.sources").write_text(stanza)
    result = run("absent", "deb https://apt.example.org/debian stable")
    assert "in one stanza with others" in result.comment
    assert text(machine, "sources.list.d/d.sources") == stanza


def test_lines_are_read_as_apt_reads_them() -> None:
    source = apt_sources.parse_line("# deb-src [ arch=amd64,i386 trusted=yes ] http://x.example.org/d a/b  # why")
    assert source is not None
    assert (source.enabled, source.type, source.suite, source.components) == (False, "deb-src", "a/b", ())
    assert source.options == {"arch": "amd64,i386", "trusted": "yes"}
    assert source.comment == "why"
    assert apt_sources.parse_line("# deb lines go below this one") is None
    assert apt_sources.parse_line("") is None


def test_an_armoured_key_is_what_gpg_makes_of_it(tmp_path: Path) -> None:
    assert dearmoured(KEY) == BINARY
    done = subprocess.run(["gpg", "--homedir", str(tmp_path), "--dearmor"], input=KEY, capture_output=True, check=False)
    if done.returncode == 0:
        assert done.stdout == BINARY
