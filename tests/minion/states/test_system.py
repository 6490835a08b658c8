"""alternatives, ssh_auth, ini, mount, kmod, timezone, environ, debconf and http: the system's own files and programs.

Whatever a state would write below /etc is written below the test's folder, and commands are answered by scripts.
"""

import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from predictions import assert_foretold

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine
from minion.machine.plan import FileStat
from minion.states.ssh.known_hosts import known_keys

Converge = Callable[..., StateResult]
Program = Callable[[str, str], None]
KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEy"


class Rooted(LocalMachine):
    """The machine, with /etc and /proc in a folder of the test."""

    top: Path

    def _at(self, path: str) -> str:
        return str(self.top) + path if path.startswith(("/etc/", "/proc/")) else path

    def stat(self, path: str) -> FileStat | None:
        return super().stat(self._at(path))

    def read(self, path: str) -> bytes:
        return super().read(self._at(path))

    def write(self, path: str, data: bytes, *, mode: str | None = None) -> None:
        assert self._at(path).startswith(str(self.top.parent))
        super().write(self._at(path), data, mode=mode)

    def symlink(self, target: str, path: str) -> None:
        assert self._at(path).startswith(str(self.top))
        super().symlink(target, self._at(path))


@pytest.fixture
def rooted(tmp_path: Path) -> Rooted:
    machine = Rooted(sources_port=MemoryFiles({}))
    machine.top = tmp_path / "root"
    for folder in ("etc/modules-load.d", "proc/self"):
        (machine.top / folder).mkdir(parents=True)
    return machine


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """program(name, script): a program that stands before the system's."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")

    def put(name: str, script: str) -> None:
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / name).chmod(0o755)

    return put


@pytest.mark.skipif(not Path("/usr/bin/update-alternatives").exists(), reason="needs update-alternatives of dpkg")
def test_alternatives(converge: Converge, tmp_path: Path, program: Program) -> None:
    for name in ("alt", "admin"):
        (tmp_path / name).mkdir()
    for name in ("one", "two"):
        (tmp_path / name).touch()
    program(
        "update-alternatives",
        f'exec /usr/bin/update-alternatives --altdir {tmp_path}/alt --admindir {tmp_path}/admin --log /dev/null "$@"',
    )
    link = str(tmp_path / "link")
    for name, priority in (("one", 10), ("two", 5)):
        result = converge("alternatives.install", "x", link=link, path=str(tmp_path / name), priority=priority)
        assert result.changes["priority"] == priority
    assert Path(link).resolve() == (tmp_path / "one").resolve()
    assert converge("alternatives.set", "x", path=str(tmp_path / "two")).changes == {"path": str(tmp_path / "two")}
    assert Path(link).resolve() == (tmp_path / "two").resolve()
    assert converge("alternatives.auto", "x").comment == "x put in auto mode"
    converge("alternatives.remove", "x", path=str(tmp_path / "one"))
    assert "doesn't exist" in converge("alternatives.set", "x", path=str(tmp_path / "one")).comment
    assert converge("alternatives.remove", "x", path=str(tmp_path / "one")).result is True


@pytest.mark.parametrize("fun", ["ssh_auth.present", "ssh_auth.manage"])
def test_keys_of_a_user_who_is_not_there_yet(program: Program, rooted: Rooted, fun: str) -> None:
    """The run fails where no state before it makes the user, and test=True says so."""
    program("getent", "exit 2")
    state, _, bare = fun.partition(".")
    arguments = {"user": "later", **({"ssh_keys": [f"ssh-rsa {KEY}"]} if bare == "manage" else {})}
    chunk = Chunk(state=state, fun=bare, id="x", name=KEY, sls="s", arguments=arguments)

    def ran(*, test: bool) -> StateResult:
        return run({"k": chunk}, StateEngine(rooted, test=test), test=test, clock=lambda: 0.0)["k"]

    for test in (True, False):
        assert ran(test=test).result is False
        assert "User later does not exist" in ran(test=test).comment


def test_keys_that_may_log_in(converge: Converge, tmp_path: Path, rooted: Rooted, program: Program) -> None:
    program("getent", f'[ "$2" = me ] || exit 2; echo "me:x:{os.getuid()}:{os.getgid()}::{tmp_path}/home:/bin/sh"')
    program("id", f"echo {os.getgid()}")
    (tmp_path / "home/.ssh").mkdir(parents=True)
    file = tmp_path / "home/.ssh/authorized_keys"
    file.write_text("# mine\n")
    added = converge("ssh_auth.present", KEY, user="me", enc="ssh-ed25519", comment="c", machine=rooted)
    assert added.changes == {KEY: "New"}
    assert file.read_text() == f"# mine\nssh-ed25519 {KEY} c\n"
    whole = f"ssh-ed25519 {KEY} c"
    assert converge("ssh_auth.present", whole, user="me", options=["no-pty"], machine=rooted).changes == {
        whole: "Updated"
    }
    converge("ssh_auth.manage", "x", user="me", ssh_keys=[f"ssh-rsa {KEY[::-1].lstrip('=')}"], machine=rooted)
    assert KEY not in file.read_text()
    gone = f"ssh-rsa {KEY[::-1].lstrip('=')}"
    assert converge("ssh_auth.absent", gone, user="me", machine=rooted).changes == {gone: "Removed"}
    assert file.read_text() == "# mine\n"
    assert "Invalid public ssh key" in converge("ssh_auth.present", "no key!", user="me", machine=rooted).comment
    assert "does not exist" in converge("ssh_auth.present", KEY, user="nobody-here", machine=rooted).comment
    file.unlink()
    file.symlink_to(tmp_path / "shadow")
    assert "is a symlink" in converge("ssh_auth.present", KEY, user="me", machine=rooted).comment
    assert not (tmp_path / "shadow").exists()


def test_a_new_section_stands_after_an_empty_line(converge: Converge, tmp_path: Path) -> None:
    file = tmp_path / "f"
    converge("ini.options_present", file, sections={"one": {"a": 1}, "two": {"b": 2}})
    assert file.read_text() == "[one]\na = 1\n\n[two]\nb = 2\n"
    file.write_text("# note\n")
    converge("ini.sections_present", file, sections=["one", "two"])
    assert file.read_text() == "# note\n\n[one]\n\n[two]\n"
    file.write_text("[zero]\n\n")
    converge("ini.options_present", file, sections={"one": {"a": 1}})
    assert file.read_text() == "[zero]\n\n[one]\na = 1\n"


def test_options_of_ini_files(converge: Converge, tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("[a]\n#k=1\n# other = 2\n;l=1\nm=1\n#m=2\n[b]\n#k=3\n")
    converge("ini.options_present", file, sections={"a": {"k": 1, "other": 2, "l": 3, "m": 4}})
    assert file.read_text() == "[a]\nk = 1\nother = 2\n;l=1\nm = 4\n#m=2\nl = 3\n[b]\n#k=3\n"
    file.write_text("top = 1\n# note\n[a]\nk = 1\nold = 2\n\n[b]\nx = 1\n")
    result = converge("ini.options_present", file, sections={"a": {"k": 2, "new": 3}, "c": {"y": "z"}})
    assert result.changes == {
        "a": {"k": {"before": "1", "after": "2"}, "new": {"before": None, "after": "3"}},
        "c": {"before": None, "after": {"y": "z"}},
    }
    assert file.read_text() == (
        "top = 1\n# note\n[a]\nk = 2\nold = 2\nnew = 3\n\n[b]\nx = 1\n\n[c]\ny = z\n"
    )  # fmt: skip
    assert converge("ini.options_absent", file, sections={"a": ["k", "none"]}).changes == {"a": {"k": "2"}}
    converge("ini.sections_absent", file, sections=["b"])
    converge("ini.sections_present", file, sections=["d"])
    converge("ini.options_present", file, sections={"a": {"only": 1}}, strict=True)
    assert file.read_text() == "# note\n[a]\nonly = 1\n\n"
    assert converge("ini.options_present", file, sections=["a"]).result is False
    assert converge("ini.options_absent", tmp_path / "none", sections={"a": ["b"]}).result is False


def test_file_systems(converge: Converge, tmp_path: Path, rooted: Rooted, program: Program) -> None:
    info = rooted.top / "proc/self/mountinfo"
    info.write_text("1 1 8:1 / / rw - ext4 /dev/sda1 rw\n")
    program("mount", f'echo "2 1 8:2 / $6 rw - $2 $5 rw" >> {info}')
    program("umount", f'sed -i "\\\\, $1 ,d" {info}')
    fstab = rooted.top / "etc/fstab"
    fstab.write_text("# c\n/dev/sda1 / ext4 defaults 0 1\n")
    (tmp_path / "data").mkdir()
    where = str(tmp_path / "data")
    result = converge("mount.mounted", where, device="/dev/sdb1", fstype="xfs", opts=["noatime", "ro"], machine=rooted)
    assert result.changes == {"mount": True, "persist": "new"}
    assert fstab.read_text().endswith(f"/dev/sdb1\t{where}\txfs\tnoatime,ro\t0\t0\n")
    changed = converge("mount.mounted", where, device="/dev/sdb1", fstype="xfs", machine=rooted)
    assert changed.changes == {"persist": "update"}
    missing = converge(
        "mount.mounted", tmp_path / "no", device="/dev/sdc1", fstype="xfs", persist=False, machine=rooted
    )
    assert "set mkmnt to True" in missing.comment
    assert converge("mount.unmounted", where, persist=True, machine=rooted).changes == {
        "umount": True,
        "persist": "purged",
    }
    assert fstab.read_text() == "# c\n/dev/sda1 / ext4 defaults 0 1\n"


def test_modules_of_the_kernel(converge: Converge, rooted: Rooted, program: Program) -> None:
    live = rooted.top / "proc/modules"
    live.write_text("ext4 1 1 - Live 0x0\n")
    program(
        "modprobe",
        f'if [ "$1" = -r ]; then sed -i "/^$2 /d" {live}; elif [ "$1" = bad ]; then echo no >&2; exit 1\n'
        f'else echo "$1 1 1 - Live 0x0" >> {live}; fi',
    )
    assert_foretold(
        rooted,
        ("kmod.present", "loop", {}),
        ("kmod.present", "loop", {}),
        ("kmod.absent", "x", {"mods": ["loop", "ext4"]}),
        ("kmod.absent", "loop", {}),
        ("kmod.present", "nbd", {"persist": True}),
        ("kmod.absent", "nbd", {"persist": True, "comment": False}),
    )
    result = converge("kmod.present", "x", mods=["ext4", "loop"], persist=True, machine=rooted)
    assert result.changes == {"ext4": "loaded", "loop": "loaded"}
    assert (rooted.top / "etc/modules-load.d/salt_managed.conf").read_text() == "ext4\nloop\n"
    assert converge("kmod.absent", "loop", persist=True, machine=rooted).changes == {"loop": "removed"}
    assert "modprobe bad failed" in converge("kmod.present", "bad", machine=rooted).comment
    assert "is no name" in converge("kmod.present", "-r", machine=rooted).comment


@pytest.mark.skipif(not Path("/usr/share/zoneinfo/Etc/UTC").exists(), reason="needs the package tzdata")
def test_the_time_zone(converge: Converge, rooted: Rooted) -> None:
    (rooted.top / "etc/timezone").write_text("Etc/GMT\n")
    assert converge("timezone.system", "Etc/UTC", machine=rooted).changes == {"timezone": "Etc/UTC"}
    assert (rooted.top / "etc/timezone").read_text() == "Etc/UTC\n"
    assert (rooted.top / "etc/localtime").readlink() == Path("/usr/share/zoneinfo/Etc/UTC")
    assert "does not exist" in converge("timezone.system", "Mars/Base", machine=rooted).comment
    assert converge("timezone.system", "../../etc/passwd", machine=rooted).result is False


def test_the_environment(converge: Converge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLT_A", "0")
    monkeypatch.delenv("SLT_B", raising=False)
    assert converge("environ.setenv", "x", value={"SLT_A": "1", "SLT_B": "2"}).changes == {
        "SLT_A": "1",
        "SLT_B": "2",
    }
    assert LocalMachine(sources_port=MemoryFiles({})).run("echo $SLT_A$SLT_B").stdout == "12\n"
    assert converge("environ.setenv", "SLT_A", value=False, false_unsets=True).changes == {"SLT_A": ""}
    assert "SLT_A" not in os.environ
    monkeypatch.delenv("SLT_B", raising=False)
    assert converge("environ.setenv", "SLT_A", value=5).result is False


def test_answers_of_debconf(converge: Converge, tmp_path: Path, program: Program) -> None:
    answers = tmp_path / "answers"
    answers.touch()
    program("debconf-show", f"exec cat {answers}")
    program("debconf-set-selections", f'while read -r p q t v; do echo "* $q: $v" >> {answers}; done')
    data = {"pkg/q": {"type": "boolean", "value": True}, "pkg/secret": {"type": "password", "value": "s3cret"}}
    result = converge("debconf.set", "pkg", data=data)
    assert result.changes == {"pkg/q": "true", "pkg/secret": "(password hidden)"}
    assert "s3cret" not in repr(result)
    assert converge("debconf.set", "pkg", data=[1]).result is False


@pytest.fixture
def server() -> Iterator[tuple[str, list[int]]]:
    """A web server that answers with the next status of the list, the last for ever."""
    codes = [200]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(codes.pop(0) if len(codes) > 1 else codes[0])
            self.end_headers()
            self.wfile.write(b"hello")

        do_POST = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nothing on stderr."""

    web = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{web.server_port}/f", codes
    web.shutdown()
    thread.join()
    web.server_close()


def test_what_a_server_answers(converge: Converge, server: tuple[str, list[int]]) -> None:
    url, codes = server
    assert converge("http.query", url, status=200).result is True
    assert converge("http.query", url, match="hel+", match_type="pcre").result is True
    assert 'Match text "bye" was not found' in converge("http.query", url, match="bye").comment
    assert "Status 200 was not found" in converge("http.query", url, status=[404, 500]).comment
    assert "is required" in converge("http.query", url).comment
    assert "is no http" in converge("http.query", "file:///etc/passwd", status=200).comment
    codes[:] = [503, 503, 503, 200]
    waited = converge("http.wait_for_successful_query", url, status=200, wait_for=60, request_interval=0.01)
    assert waited.result is True
    codes[:] = [500]
    vain = converge("http.wait_for_successful_query", url, status=200, wait_for=0.02, request_interval=0.01)
    assert "in vain" in vain.comment


def test_files_from_the_web(converge: Converge, tmp_path: Path, server: tuple[str, list[int]]) -> None:
    import hashlib

    url, codes = server
    right = hashlib.sha256(b"hello").hexdigest()
    assert "Unable to verify upstream hash" in converge("file.managed", tmp_path / "f", source=url).comment
    assert "does not match" in converge("file.managed", tmp_path / "f", source=url, source_hash="0" * 64).comment
    converge("file.managed", tmp_path / "f", source=url, source_hash=f"sha256={right}")
    assert (tmp_path / "f").read_text() == "hello"
    codes[:] = [500]
    assert converge("file.managed", tmp_path / "f", source=url, source_hash=right).result is True
    assert "answers 500" in converge("file.managed", tmp_path / "g", source=url, skip_verify=True).comment
    codes[:] = [404]
    assert "not found" in converge("file.managed", tmp_path / "g", source=url, skip_verify=True).comment
    shutil.rmtree(tmp_path / "kept", ignore_errors=True)


def test_keys_of_hosts(converge: Converge, tmp_path: Path, program: Program) -> None:
    import base64
    import hashlib

    config, plain = str(tmp_path / "known"), {"hash_known_hosts": False}
    print_ = "SHA256:" + base64.b64encode(hashlib.sha256(base64.b64decode(KEY)).digest()).decode().rstrip("=")
    program("ssh-keyscan", f"echo 'git.example.org ssh-ed25519 {KEY}'")
    result = converge("ssh_known_hosts.present", "git.example.org", config=config, fingerprint=print_, **plain)
    assert result.changes["new"] == [{"hostname": "git.example.org", "enc": "ssh-ed25519", "key": KEY}]
    assert Path(config).read_text() == f"git.example.org ssh-ed25519 {KEY}\n"
    wrong = converge("ssh_known_hosts.present", "other.example.org", config=config, fingerprint="SHA256:x")
    assert "none of their fingerprints match" in wrong.comment
    unvouched = converge("ssh_known_hosts.present", "other.example.org", config=config)
    assert "is not yet the right one" in unvouched.comment
    converge("ssh_known_hosts.present", "git.example.org", port=2222, key=KEY, config=config, **plain)
    assert f"[git.example.org]:2222 ssh-ed25519 {KEY}\n" in Path(config).read_text()
    converge("ssh_known_hosts.absent", "git.example.org", config=config)
    assert Path(config).read_text() == f"[git.example.org]:2222 ssh-ed25519 {KEY}\n"


def test_a_users_new_known_hosts_are_the_users_alone(converge: Converge, tmp_path: Path) -> None:
    config = tmp_path / "known"
    converge("ssh_known_hosts.present", "git.example.org", key=KEY, config=str(config), user="root")
    assert (config.stat().st_mode & 0o777, config.stat().st_gid) == (0o600, os.getegid())


def test_names_of_hosts_are_hashed_as_ssh_does_it(converge: Converge, tmp_path: Path) -> None:
    config = tmp_path / "known"
    config.write_text(f"# note\n*.example.net ssh-ed25519 {KEY}\na.example.org,192.0.2.1 ssh-rsa {KEY}\n")
    converge("ssh_known_hosts.present", "git.example.org", key=KEY, config=str(config))
    lines = config.read_text().splitlines()
    assert lines[:2] == ["# note", f"*.example.net ssh-ed25519 {KEY}"]
    assert [line[:3] for line in lines[2:]] == ["|1|"] * 3
    for name in ("a.example.org", "192.0.2.1", "git.example.org"):
        assert len([key for _, key in known_keys(LocalMachine(sources_port=MemoryFiles({})), str(config), name)]) == 1
        if shutil.which("ssh-keygen"):
            asked = subprocess.run(["ssh-keygen", "-F", name, "-f", str(config)], capture_output=True, check=False)
            assert asked.returncode == 0


def test_locales(converge: Converge, tmp_path: Path, rooted: Rooted, program: Program) -> None:
    (tmp_path / "made").write_text("C.utf8\n")
    program("locale", f"exec cat {tmp_path}/made")
    program("locale-gen", f"echo de_DE.utf8 >> {tmp_path}/made")
    (rooted.top / "etc/default").mkdir()
    (rooted.top / "etc/locale.gen").write_text("# de_DE.UTF-8 UTF-8\n")
    assert converge("locale.present", "de_DE.UTF-8", machine=rooted).comment == "Generated locale de_DE.UTF-8"
    assert (rooted.top / "etc/locale.gen").read_text() == "de_DE.UTF-8 UTF-8\n\n"
    assert converge("locale.present", "C.UTF-8", machine=rooted).comment == "Locale C.UTF-8 is already present"
    assert converge("locale.system", "de_DE.UTF-8", machine=rooted).changes == {"locale": "de_DE.UTF-8"}
    assert (rooted.top / "etc/default/locale").read_text() == (
        '#  File generated by update-locale\nLANG="de_DE.UTF-8"\n'
    )
    (rooted.top / "etc/default/locale").write_text("# mine\nLANG=C\nLC_ALL=C\n")
    converge("locale.system", "de_DE.UTF-8", machine=rooted)
    assert (rooted.top / "etc/default/locale").read_text() == '# mine\nLANG="de_DE.UTF-8"\nLC_ALL=C\n'
    assert converge("locale.present", "a;b", machine=rooted).result is False
