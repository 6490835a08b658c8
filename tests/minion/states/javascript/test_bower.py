"""Packages of bower, which npm brings for the tests, from repositories that are made here."""

import json
import shutil
import subprocess

import pytest

from minion.execution import CallFailed, Context, Modules


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The folder of the program bower."""
    if shutil.which("npm") is None or shutil.which("git") is None:
        pytest.skip("npm or git is not there")
    top = tmp_path_factory.mktemp("bower")
    words = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", top, "bower@1"]
    if subprocess.run(words, check=False, capture_output=True, timeout=120).returncode != 0:
        pytest.skip("npm cannot bring bower: its registry does not answer")
    return top / "node_modules/.bin"


@pytest.fixture
def app(program, tmp_path, tmp_path_factory, monkeypatch):
    """A project; bower's own files are elsewhere."""
    monkeypatch.setenv("PATH", str(program), prepend=":")
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "app").mkdir()
    return tmp_path / "app"


@pytest.fixture
def package(tmp_path_factory):
    """package("one", "1.0.0", "1.1.0"): a repository with a tag a version."""

    def made(name, *versions):
        folder = tmp_path_factory.mktemp("repository") / name
        folder.mkdir()
        git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-C", folder]
        subprocess.run([*git, "init", "-q"], check=True)
        for version in versions:
            (folder / "bower.json").write_text(json.dumps({"name": name, "version": version}))
            for words in (["add", "."], ["commit", "-qm", version], ["tag", version]):
                subprocess.run([*git, *words], check=True)
        return str(folder)

    return made


def test_packages_are_installed_and_removed(app, package, converge):
    one = package("one", "1.0.0", "1.1.0")
    made = converge("bower.installed", f"one={one}#1.0.0", dir=str(app))
    assert made.changes == {"old": [], "new": [f"one={one}#1.0.0"]}
    for name in ("one", "one#1.0.0", one):
        there = converge("bower.installed", name, dir=str(app))
        assert (there.changes, there.comment) == ({}, f"Package(s) '{name}' satisfied by one#1.0.0")
    two = package("two", "2.0.0")
    made = converge("bower.installed", "x", dir=str(app), pkgs=["one", two])
    assert (made.changes, made.comment) == ({"old": [], "new": [two]}, f"Package(s) '{two}' successfully installed")
    assert json.loads((app / "bower_components/two/bower.json").read_text())["version"] == "2.0.0"
    gone = converge("bower.removed", "one", dir=str(app))
    assert (gone.changes, gone.comment) == ({"one": "Removed"}, "Package 'one' was successfully removed")
    assert converge("bower.removed", "one", dir=str(app)).comment == "Package 'one' is not installed"


def test_a_project_is_bootstrapped_and_pruned(app, package, converge):
    one, two = package("one", "1.0.0", "1.1.0"), package("two", "2.0.0")
    (app / "bower.json").write_text(json.dumps({"name": "app", "dependencies": {"one": f"{one}#~1.0.0"}}))
    made = converge("bower.bootstrap", app)
    assert (made.changes, made.comment) == ({str(app): "Bootstrapped"}, "Directory was successfully bootstrapped")
    assert json.loads((app / "bower_components/one/bower.json").read_text())["version"] == "1.0.0"
    converge("bower.installed", two, dir=str(app))
    pruned = converge("bower.pruned", app)
    assert (pruned.changes, pruned.comment) == (
        {"old": [], "new": {"two": "2.0.0"}}, f"Directory '{app}' was successfully pruned",
    )  # fmt: skip
    assert converge("bower.pruned", app).comment == f"No packages were pruned from directory '{app}'"


def test_what_cannot_be_done_is_said(app, package, converge):
    one = package("one", "1.0.0")
    failed = converge("bower.installed", f"{one}#9.9", dir=str(app))
    assert failed.comment.startswith(f"Error installing '{one}#9.9': ")
    assert "there is no folder" in converge("bower.bootstrap", app / "none").comment
    assert "is no package of bower" in converge("bower.installed", "--save", dir=str(app)).comment
    (app / "bower.json").write_text("{")
    assert converge("bower.bootstrap", app).comment.startswith(f"Error bootstrapping '{app}': ")


def test_the_module(app, package):
    call = Modules(Context(minion_id="m")).call
    one = package("one", "1.0.0")
    assert call("bower.install", (one, str(app))) is True
    assert call("bower.install", (one, str(app))) is False
    assert call("bower.list", (str(app),))["one"]["pkgMeta"]["version"] == "1.0.0"
    assert list(call("bower.prune", (str(app),))) == ["one"]
    assert call("bower.uninstall", ("one", str(app))) is False


def test_without_bower_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CallFailed, match="bower is not there"):
        Modules(Context(minion_id="m")).call("bower.list", (str(tmp_path),))
