"""flatpak: the real program, on an installation and a repository in folders of the test's own."""

import shutil
import subprocess

import pytest

from minion.execution import CallFailed, Context, Modules

METADATA = "[Runtime]\nname=org.example.Case\nruntime=org.example.Case/x86_64/1\nsdk=org.example.Case/x86_64/1\n"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A file that describes a repository with the runtime org.example.Case."""
    if shutil.which("flatpak") is None:
        pytest.skip("needs Debian's flatpak")
    for name, place in (("FLATPAK_SYSTEM_DIR", "sys"), ("XDG_DATA_HOME", "home"), ("FLATPAK_USER_DIR", "user")):
        monkeypatch.setenv(name, str(tmp_path / place))
    (tmp_path / "build/usr").mkdir(parents=True)
    (tmp_path / "build/files").mkdir()
    (tmp_path / "build/metadata").write_text(METADATA)
    (tmp_path / "build/usr/x").write_text("x")
    argv = ["flatpak", "build-export", "--disable-sandbox", "-r", "repo", "build", "1"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"flatpak makes no repository here: {done.stderr}")
    subprocess.run(["flatpak", "remotes"], check=True)  # which makes the installation
    described = tmp_path / "case.flatpakrepo"
    described.write_text(f"[Flatpak Repo]\nTitle=Case\nUrl=file://{tmp_path}/repo\n")
    return described


def test_remotes_and_packages(converge, repository):
    done = converge("flatpak.add_remote", "case", location=str(repository))
    assert (done.changes, done.comment) == ({"old": None, "new": "case"}, 'Remote "case" was added')
    done = converge("flatpak.installed", "org.example.Case", location="case")
    assert done.changes == {"old": None, "new": "org.example.Case"}
    assert done.comment == 'The package "org.example.Case" was installed'
    done = converge("flatpak.uninstalled", "org.example.Case")
    assert (done.changes["new"], done.comment) == (None, "Package org.example.Case uninstalled")
    assert converge("flatpak.installed", "org.example.None", location="case").result is False
    assert "is no remote" in converge("flatpak.installed", "org.example.Case", location="--user").comment


def test_the_module(repository):
    def call(fun, *args):
        return Modules(Context(minion_id="m")).call(f"flatpak.{fun}", args)

    assert call("is_remote_added", "case") is False
    assert call("add_remote", "case", str(repository))["result"] is True
    assert call("is_remote_added", "case") is True
    assert call("install", "case", "org.example.Case")["result"] is True
    assert call("is_installed", "org.example.Case") is True
    assert call("uninstall", "org.example.Case")["result"] is True
    with pytest.raises(CallFailed, match="flatpak failed"):
        call("uninstall", "org.example.Case")
