"""git, archive, pip, virtualenv, cron, sysctl and host: states that stand on programs and on files of the system.

The programs are real where any machine has them (git, tar, python); crontab and sysctl are small scripts that keep
their data in the folder of the test.
"""

import io
import os
import pwd
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.types import StateResult
from minion.machine.machine import LocalMachine
from minion.machine.plan import Completed, FileStat
from minion.states import cron
from minion.states.sysctl import default_config

Converge = Callable[..., StateResult]


class Rooted(LocalMachine):
    """The machine, with the files of /etc in a folder of the test."""

    top: Path

    def _at(self, path: str) -> str:
        return str(self.top) + path if path.startswith("/etc/") else path

    def stat(self, path: str) -> FileStat | None:
        return super().stat(self._at(path))

    def read(self, path: str) -> bytes:
        return super().read(self._at(path))

    def write(self, path: str, data: bytes, *, mode: str | None = None) -> None:
        assert self._at(path).startswith(str(self.top))
        super().write(self._at(path), data, mode=mode)


@pytest.fixture
def rooted(tmp_path: Path) -> Rooted:
    machine = Rooted(sources_port=MemoryFiles({}))
    machine.top = tmp_path / "root"
    (machine.top / "etc/sysctl.d").mkdir(parents=True)
    return machine


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """program(name, script): a program that stands before the system's."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")

    def put(name: str, script: str) -> None:
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / name).chmod(0o755)

    return put


# --- cron -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def tab(tmp_path: Path, program: Callable[[str, str], None]) -> Path:
    file = tmp_path / "tab"
    program(
        "crontab",
        f"""[ "$1" = -u ] || exit 2
if [ "$3" = -l ]; then [ -f {file} ] && exec cat {file}; echo "no crontab for $2" >&2; exit 1; fi
exec cat > {file}""",
    )
    return file


def test_a_cron_job_comes_changes_and_goes(converge: Converge, tab: Path) -> None:
    tab.write_text("# mine\n0 0 * * * keep\n")
    result = converge("cron.present", "/bin/true", user="root", minute="*/5", identifier="job", comment="what for")
    assert result.changes == {"root": "/bin/true"}
    assert result.comment == "Cron /bin/true added to root's crontab"
    head = f"# mine\n0 0 * * * keep\n{cron.MARK}\n"
    assert tab.read_text() == f"{head}# what for SALT_CRON_IDENTIFIER:job\n*/5 * * * * /bin/true\n"
    assert converge("cron.present", "/bin/false", user="root", identifier="job").comment == "Cron /bin/false updated"
    assert tab.read_text() == f"{head}# what for SALT_CRON_IDENTIFIER:job\n* * * * * /bin/false\n"
    converge("cron.env_present", "PATH", value="/bin", user="root")
    converge("cron.present", "x", user="root", special="@daily", commented=True)
    assert "PATH=/bin\n" in tab.read_text()
    assert "#DISABLED#@daily x\n" in tab.read_text()
    for fun, name, more in (
        ("absent", "gone", {"identifier": "job"}),
        ("absent", "x", {}),
        ("env_absent", "PATH", {}),
    ):
        assert converge(f"cron.{fun}", name, user="root", **more).changes
    assert tab.read_text() == head


@pytest.mark.parametrize(
    ("arguments", "said"),
    [({"minute": "a b"}, "no field of a crontab"), ({"special": "@noon"}, "special can be @reboot")],
)
def test_a_bad_time_is_said(converge: Converge, tab: Path, arguments: Any, said: str) -> None:
    assert said in converge("cron.present", "x", **arguments).comment


def test_random_times_stay(converge: Converge, tab: Path) -> None:
    converge("cron.present", "x", minute="random", hour="random")
    text = tab.read_text()
    assert converge("cron.present", "x", minute="random", hour="random").comment == "Cron x already present"
    assert tab.read_text() == text
    written = tab.read_text().splitlines()[-1].split()
    other = str((int(written[0]) + 7) % 60)
    tab.write_text(tab.read_text().replace(f"\n{written[0]} ", f"\n{other} "))
    kept = converge("cron.present", "x", minute="random", hour="random")
    assert kept.comment == "Cron x already present", "what Salt, or somebody, has drawn stays"


# --- sysctl and host ------------------------------------------------------------------------------------------------


def test_a_kernel_parameter_is_set_now_and_at_boot(
    converge: Converge, tmp_path: Path, program: Callable[[str, str], None]
) -> None:
    live = tmp_path / "live"
    live.write_text("1\t2\n")
    program(
        "sysctl",
        f"""[ "$2" = no.such ] && {{ echo "cannot stat /proc/sys/no/such" >&2; exit 255; }}
if [ "$1" = -n ]; then exec cat {live}; fi
echo "${{2#*=}}" > {live}""",
    )
    config = tmp_path / "sysctl.conf"
    config.write_text("# c\na.b = 5\nother = 1\n")
    assert converge("sysctl.present", "a.b", value="1 2", config=str(config)).changes == {"a.b": "1 2"}
    assert config.read_text() == "# c\na.b = 1 2\nother = 1\n"
    assert converge("sysctl.present", "a.b", value=7, config=str(config)).comment == "Updated sysctl value a.b = 7"
    assert live.read_text() == "7\n"
    assert converge("sysctl.present", "a.b", value=7, config=str(config)).comment.endswith("is already set")
    assert "cannot stat" in converge("sysctl.present", "no.such", value=1, config=str(config)).comment
    fresh = tmp_path / "new.d/sysctl.conf"
    converge("sysctl.present", "a.b", value=7, config=str(fresh))
    assert fresh.read_text() == "#\n# Kernel sysctl configuration\n#\na.b = 7\n"


@pytest.mark.parametrize("booted", [True, False])
def test_the_file_of_kernel_parameters_is_one_that_is_read_at_boot(booted: bool) -> None:
    class Booted(LocalMachine):
        def stat(self, path: str) -> FileStat | None:
            if path == "/run/systemd/system":
                return super().stat("/") if booted else None
            return super().stat(path)

    expected = "/etc/sysctl.d/99-salt.conf" if booted else "/etc/sysctl.conf"
    assert default_config(Booted(sources_port=MemoryFiles({}))) == expected


def test_hosts(converge: Converge, rooted: Rooted) -> None:
    file = rooted.top / "etc/hosts"
    file.write_text("# top\n127.0.0.1 localhost\n192.0.2.9 web\n")
    result = converge("host.present", "web", ip="192.0.2.1", clean=True, comment="why", machine=rooted)
    assert result.changes == {
        "added": {"192.0.2.1": ["web"]},
        "comment_added": {"192.0.2.1": ["why"]},
        "removed": {"192.0.2.9": ["web"]},
    }
    assert file.read_text() == "# top\n127.0.0.1 localhost\n192.0.2.1\t\tweb\t\t# why\n"
    assert converge("host.present", "web", ip=["192.0.2.1"], machine=rooted).comment == (
        "Host web (192.0.2.1) already present"
    )
    converge("host.only", "192.0.2.1", hostnames=["a", "b"], machine=rooted)
    converge("host.absent", "a", ip="192.0.2.1", machine=rooted)
    assert file.read_text().endswith("192.0.2.1\t\tb\n")
    assert converge("host.present", "web", ip="nowhere", machine=rooted).comment == "Invalid IP Address (nowhere)"


def test_an_address_on_several_lines_is_one(converge: Converge, rooted: Rooted) -> None:
    file = rooted.top / "etc/hosts"
    lines = "192.0.2.1 a\n# between\n192.0.2.7  other # kept as it is\n192.0.2.1 b c\n"
    file.write_text(lines)
    there = converge("host.present", "a", ip="192.0.2.1", machine=rooted)
    assert (there.comment, there.changes) == ("Host a (192.0.2.1) already present", {})
    same = converge("host.only", "192.0.2.1", hostnames=["a", "b", "c"], machine=rooted)
    assert (same.comment, file.read_text()) == ('IP address 192.0.2.1 already set to "a b c"', lines)
    result = converge("host.only", "192.0.2.1", hostnames=["b"], machine=rooted)
    assert result.changes == {"192.0.2.1": {"old": "a b c", "new": "b"}}
    assert file.read_text() == "192.0.2.1\t\tb\n# between\n192.0.2.7  other # kept as it is\n"
    file.write_text(lines)
    converge("host.absent", "a", ip="192.0.2.1", machine=rooted)
    assert file.read_text() == lines.removeprefix("192.0.2.1 a\n")
    converge("host.only", "192.0.2.1", hostnames="", machine=rooted)
    assert file.read_text() == "# between\n192.0.2.7  other # kept as it is\n"


# --- archive --------------------------------------------------------------------------------------------------------


def tar(members: Mapping[str, bytes | str]) -> bytes:
    """A tar; a text is the target of a symlink."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in members.items():
            one = tarfile.TarInfo(name)
            if isinstance(data, str):
                one.type, one.linkname = tarfile.SYMTYPE, data
                archive.addfile(one)
            else:
                one.size, one.mode = len(data), 0o755
                archive.addfile(one, io.BytesIO(data))
    return out.getvalue()


def test_archives_are_laid_out(converge: Converge, tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(tar({"app/run": b"1", "app/link": "run"}))
    top = tmp_path / "opt"
    result = converge("archive.extracted", top, source=str(tmp_path / "a.tar.gz"))
    assert result.changes == {
        "directories_created": [f"{top}/"],
        "extracted_files": ["app/run", "app/link"],
    }
    assert (top / "app/run").stat().st_mode & 0o777 == 0o755
    assert (top / "app/link").read_bytes() == b"1"
    (top / "app/run").write_bytes(b"mine")
    assert converge("archive.extracted", top, source=str(tmp_path / "a.tar.gz")).changes == {}
    converge("archive.extracted", top, source=str(tmp_path / "a.tar.gz"), overwrite=True)
    assert (top / "app/run").read_bytes() == b"1"
    skipped = converge("archive.extracted", top / "x", source="/none", if_missing=str(top))
    assert skipped.comment == f"Path {top} exists"


@pytest.mark.parametrize(
    ("option", "left"), [("clean", ["app", "app/run", "other"]), ("clean_parent", ["app", "app/run"])]
)
def test_what_is_cleaned_before_an_archive_is_laid_out(
    converge: Converge, tmp_path: Path, option: str, left: list[str]
) -> None:
    (tmp_path / "a.tar").write_bytes(tar({"app/run": b"1"}))
    top = tmp_path / "opt"
    (top / "app").mkdir(parents=True)
    (top / "app/mine").touch()
    (top / "other").touch()
    result = converge("archive.extracted", top, source=str(tmp_path / "a.tar"), **{option: True})
    assert sorted(str(path.relative_to(top)) for path in top.rglob("*")) == left
    if option == "clean":
        assert result.changes == {"removed": [f"{top}/app/"], "extracted_files": ["app/run"]}
    else:
        removed = f"Directory {top}/ was removed prior to the extraction"
        assert result.changes["removed"] == removed
        assert result.changes["directories_created"] == [f"{top}/"]
    both = converge("archive.extracted", top, source=str(tmp_path / "a.tar"), clean=True, clean_parent=True)
    assert both.comment == "Only one of 'clean' and 'clean_parent' can be set to True"


def test_modes_of_a_zip_are_left_aside(converge: Converge, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        one = zipfile.ZipInfo("v1/x")
        one.external_attr = 0o100755 << 16
        archive.writestr(one, "1")
    for perms, mode in ((True, 0o755), (False, 0o644)):
        top = tmp_path / str(perms)
        converge("archive.extracted", top, source=str(tmp_path / "a.zip"), extract_perms=perms)
        assert (top / "v1/x").stat().st_mode & 0o777 == mode


def test_a_zip_and_stripped_components(converge: Converge, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("v1/bin/x", "1")
        archive.writestr("readme", "2")
    where = {"source": str(tmp_path / "a.zip"), "options": "--strip-components=1", "enforce_toplevel": False}
    converge("archive.extracted", tmp_path / "opt", **where)
    assert [str(path.relative_to(tmp_path)) for path in (tmp_path / "opt").rglob("*")] == ["opt/bin", "opt/bin/x"]


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"../out": b"x"}, "lies outside of its directory"),
        ({"/etc/out": b"x"}, "lies outside of its directory"),
        ({"d": "/tmp", "d/x": b"x"}, "lies below the symlink d"),
        ({"a": b"1", "b": b"2"}, "does not have a single top-level directory"),
    ],
)
def test_what_an_archive_may_not_do(converge: Converge, tmp_path: Path, members: Any, said: str) -> None:
    (tmp_path / "a.tar").write_bytes(tar(members))
    result = converge("archive.extracted", tmp_path / "in/opt", source=str(tmp_path / "a.tar"))
    assert result.result is False
    assert said in result.comment
    (tmp_path / "b.tar").write_bytes(b"no archive")
    assert "cannot be read" in converge("archive.extracted", tmp_path / "o", source=str(tmp_path / "b.tar")).comment


# --- git ------------------------------------------------------------------------------------------------------------


def git(folder: Path, *words: str) -> str:
    argv = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    folder = tmp_path / "remote"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "one")
    return folder


def commit(folder: Path, text: str) -> str:
    (folder / "f").write_text(text)
    git(folder, "add", "f")
    git(folder, "commit", "-q", "-m", text)
    return git(folder, "rev-parse", "HEAD")


def test_a_clone_follows_its_remote(converge: Converge, tmp_path: Path, remote: Path) -> None:
    target, first = tmp_path / "clone", git(remote, "rev-parse", "HEAD")
    result = converge("git.latest", str(remote), target=str(target))
    assert result.changes == {"new": f"{remote} => {target}", "revision": {"old": None, "new": first}}
    second = commit(remote, "two")
    moved = converge("git.latest", str(remote), target=str(target))
    assert moved.changes == {"revision": {"old": first, "new": second}}
    assert (target / "f").read_text() == "two"
    git(remote, "tag", "v1", first)
    converge("git.detached", str(remote), target=str(target), rev="v1")
    assert git(target, "rev-parse", "HEAD") == first
    assert (
        "exists in the remote repository" in converge("git.latest", str(remote), target=str(target), rev="no").comment
    )


def test_work_in_a_clone_is_not_lost_unless_asked(converge: Converge, tmp_path: Path, remote: Path) -> None:
    target = tmp_path / "clone"
    converge("git.cloned", str(remote), target=str(target))
    commit(remote, "two")
    (target / "f").write_text("mine")
    assert "uncommitted changes" in converge("git.latest", str(remote), target=str(target)).comment
    assert (target / "f").read_text() == "mine"
    converge("git.latest", str(remote), target=str(target), force_reset=True)
    assert (target / "f").read_text() == "two"
    full = tmp_path / "full"
    full.mkdir()
    (full / "x").touch()
    assert "is not a git repository" in converge("git.latest", str(remote), target=str(full)).comment
    assert (full / "x").exists()


def test_settings_of_git(converge: Converge, remote: Path) -> None:
    result = converge("git.config_set", "user.name", value="a", repo=str(remote))
    assert result.changes == {"user.name": {"old": None, "new": ["a"]}}
    converge("git.config_set", "x.y", multivar=["1", "2"], repo=str(remote))
    assert git(remote, "config", "--get-all", "x.y") == "1\n2"
    part = converge("git.config_unset", "x.y", repo=str(remote), value_regex="^2")
    assert (part.comment, part.changes) == ("Value(s) successfully unset", {"x.y": ["2"]})
    git(remote, "config", "--add", "x.y", "3")
    several = converge("git.config_unset", "x.y", repo=str(remote))
    assert several.comment.endswith("(set 'all' to True to force removal): x.y (1, 3)")
    converge("git.config_unset", "x.y", repo=str(remote), all=True)
    assert converge("git.config_unset", "x.y", repo=str(remote)).comment == "No matching keys are set"
    assert converge("git.config_set", "a.b", value="c").result is False


def test_passwords_of_addresses_are_not_shown(converge: Converge, tmp_path: Path) -> None:
    url = "https://127.0.0.1:1/x"
    result = converge("git.latest", url, target=str(tmp_path / "c"), https_user="u", https_pass="secret")
    assert result.result is False
    assert "secret" not in result.comment


# --- pip and virtualenv ---------------------------------------------------------------------------------------------


class Recorded(LocalMachine):
    """Answers of pip as it gave them; commands that change something are noted."""

    packages: dict[str, str]
    seen: list[list[str]]

    def query(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, stdin: str | None = None
    ) -> Completed:
        import json

        if "list" in argv:
            listed = [{"name": name, "version": version} for name, version in self.packages.items()]
            return Completed(returncode=0, stdout=json.dumps(listed), stderr="")
        if "nope" in argv[-1]:
            return Completed(returncode=1, stdout="", stderr="ERROR: No matching distribution found for nope")
        name, _, version = argv[-1].partition("==")
        report = {"install": [{"metadata": {"name": name, "version": version or "2.0"}}]}
        return Completed(returncode=0, stdout=json.dumps(report), stderr="")

    def run(self, argv: Any, **options: Any) -> Completed:
        self.seen.append(list(argv))
        name, _, version = argv[-1].partition("==")
        if "uninstall" in argv:
            self.packages.pop(name)
        else:
            self.packages[name] = version or "2.0"
        return Completed(returncode=0, stdout="", stderr="")


@pytest.fixture
def pips() -> Recorded:
    machine = Recorded(sources_port=MemoryFiles({}))
    machine.packages, machine.seen = {"Some_Thing": "1.0"}, []
    return machine


def test_packages_of_python(converge: Converge, pips: Recorded) -> None:
    assert converge("pip.installed", "some-thing", machine=pips).changes == {}
    assert converge("pip.installed", "other", machine=pips, bin_env="/venv").changes == {"other==2.0": "Installed"}
    assert pips.seen[-1] == ["/venv/bin/python", "-m", "pip", "install", "other"]
    assert converge("pip.installed", "other==3.1", machine=pips).changes == {"other==3.1": "Installed"}
    options = {"cert": "/etc/ca.pem", "exists_action": "i", "no_binary": ":all:"}
    converge("pip.installed", "third", machine=pips, **options)
    assert pips.seen[-1][4:] == ["--cert", "/etc/ca.pem", "--exists-action", "i", "--no-binary", ":all:", "third"]
    assert "only supports the values" in converge("pip.installed", "x", machine=pips, exists_action="a").comment
    assert converge("pip.removed", "other", machine=pips).changes == {"other": "Removed"}
    assert converge("pip.removed", "other", machine=pips).comment == "Package is not installed."
    assert "No matching distribution" in converge("pip.installed", "nope", machine=pips).comment
    assert "is no requirement" in converge("pip.installed", "--evil", machine=pips).comment


@pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")
def test_a_virtual_environment_of_a_user(converge: Converge) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        result = converge("virtualenv.managed", f"{folder}/venv", user="nobody")
        assert (result.result, result.comment) == (True, "Created new virtualenv")
        assert Path(folder, "venv/bin").owner() == "nobody"


def test_a_virtual_environment_is_made_once(converge: Converge, tmp_path: Path) -> None:
    result = converge("virtualenv.managed", tmp_path / "venv", venv_bin="pyvenv")
    assert result.comment == "Created new virtualenv"
    assert (tmp_path / "venv/bin/python").exists()
    assert converge("virtualenv.managed", tmp_path / "venv").comment == "virtualenv exists"
