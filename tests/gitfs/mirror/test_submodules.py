from __future__ import annotations

import time
from dataclasses import replace

import pytest

from gitfs.config.settings import RemoteSettings
from gitfs.errors import BadTree, UnknownRef
from gitfs.source import Source
from gitfs.tree.gitlinks import _settings_of, parse_gitmodules

ALLOW = ("-c", "protocol.file.allow=always")


def add_submodule(parent, child, path, branch="main"):
    parent.run(*ALLOW, "submodule", "add", "-q", "--force", str(child.bare), path)
    return parent.commit(branch=branch)


@pytest.fixture
def parts(make_remote):
    parent, child = make_remote("states"), make_remote("formula")
    child.commit({"nginx/init.sls": "one", "README": "r"})
    parent.commit({"top.sls": "top", "salt/x.sls": "x"})
    add_submodule(parent, child, "salt/formula")
    return parent, child


def test_a_submodule_is_shown_at_the_recorded_commit(parts, tmp_path):
    parent, child = parts
    child.commit({"nginx/init.sls": "two"})
    with Source([parent.settings()], (), tmp_path / "cache") as source:
        assert not source.fetch(patience=60)[0].refused
        files = source.live().files
        assert files.read("salt/formula/nginx/init.sls") == b"one"
        assert "salt/formula/README" in files.list()
        parent.run(*ALLOW, "submodule", "update", "-q", "--remote", "salt/formula")
        parent.commit()
        source.fetch(patience=60)
        assert source.live().files.read("salt/formula/nginx/init.sls") == b"two"
    child.bare.rename(child.bare.with_name("away"))
    with Source([parent.settings()], (), tmp_path / "cache") as source:
        assert source.live().files.read("salt/formula/nginx/init.sls") == b"two"


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"root": "salt"}, "formula/nginx/init.sls"),
        ({"root": "salt/formula"}, "nginx/init.sls"),
        ({"root": "salt/formula/nginx", "mountpoint": "web"}, "web/init.sls"),
        ({"mountpoint": "m"}, "m/salt/formula/nginx/init.sls"),
    ],
)
def test_root_and_mountpoint_reach_into_submodules(parts, tmp_path, options, path):
    with Source([parts[0].settings(**options)], (), tmp_path / "cache") as source:
        source.fetch(patience=60)
        assert source.live().files.read(path) == b"one"


def test_submodules_of_submodules(parts, make_remote, tmp_path):
    parent, child = parts
    inner = make_remote("inner")
    inner.commit({"deep": "down"})
    add_submodule(child, inner, "inner")
    parent.run(*ALLOW, "submodule", "update", "-q", "--remote", "salt/formula")
    parent.commit()
    with Source([parent.settings()], (), tmp_path / "cache") as source:
        source.fetch(patience=60)
        assert source.live().files.read("salt/formula/inner/deep") == b"down"


def test_a_repository_that_is_its_own_submodule(remote, tmp_path):
    remote.commit({"x": "one"})
    for _ in range(3):
        tip = remote.run("rev-parse", "HEAD")
        (remote.work / ".gitmodules").write_text('[submodule "me"]\n\tpath = me\n\turl = ../remote.git\n')
        remote.run("add", ".gitmodules")
        remote.run("update-index", "--add", "--cacheinfo", f"160000,{tip},me")
        remote.run("commit", "-qm", "myself")
    remote.run("push", "-q", "origin", "main")
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        assert not source.fetch(patience=30)[0].refused
        assert source.live().files.read("me/me/me/x") == b"one"


def test_a_commit_whose_submodule_is_not_there_does_not_go_live(parts, tmp_path):
    parent, child = parts
    with Source([parent.settings()], (), tmp_path / "cache") as source:
        source.fetch(patience=60)
        (child.work / "lost").write_text("never pushed")
        child.run("add", "-A")
        child.run("commit", "-qm", "lost")
        lost = child.run("rev-parse", "HEAD")
        parent.run("update-index", "--cacheinfo", f"160000,{lost},salt/formula")
        parent.run("commit", "-qm", "names what nobody has")
        parent.run("push", "-q", "origin", "main", "main:feature")
        (fetched,) = source.fetch(patience=60)
        assert [each.branch for each in fetched.refused] == ["feature", "main"]
        assert "submodule states/salt/formula" in fetched.refused[0].reason
        assert source.live().files.read("salt/formula/nginx/init.sls") == b"one"
        with pytest.raises(UnknownRef, match="salt/formula"):
            source.at("feature")
        child.run("push", "-q", "origin", "main")
        assert not source.fetch(patience=60)[0].refused
        assert source.live().files.read("salt/formula/lost") == b"never pushed"
        assert source.at("feature").files.read("salt/formula/lost") == b"never pushed"


def test_submodules_can_be_left_out(parts, tmp_path):
    with Source([parts[0].settings(submodules=False)], (), tmp_path / "cache") as source:
        source.fetch(patience=60)
        assert list(source.live().files.list()) == [".gitmodules", "salt/x.sls", "top.sls"]


@pytest.mark.parametrize(
    "url", ["ext::sh -c touch% /tmp/x", "--upload-pack=touch /tmp/x", "-oProxyCommand=x:y", "ssh://-oProxyCommand=x/y"]
)
def test_a_hostile_gitmodules_is_refused(parts, tmp_path, url):
    parent, _ = parts
    text = f'[include]\n\tpath = /etc/passwd\n[submodule "x"]\n\tpath = salt/formula\n\turl = {url}\n'
    with Source([parent.settings()], (), tmp_path / "cache") as source:
        source.fetch(patience=60)
        before = source.live()
        (parent.work / ".gitmodules").write_text(text)
        parent.run("commit", "-qam", "hostile")
        parent.run("push", "-q", "origin", "main")
        (fetched,) = source.fetch(patience=60)
        assert [each.branch for each in fetched.refused] == ["main"]
        assert source.live() == before


def test_only_a_remote_of_this_machine_may_name_folders_of_this_machine():
    far = RemoteSettings(name="far", url="https://git.example.org/a/b.git")
    for url in ("/srv/secret.git", "file:///srv/secret.git"):
        with pytest.raises(BadTree, match="on this machine"):
            _settings_of("x", url, far)


def test_credentials_go_to_the_same_server_only():
    parent = RemoteSettings(name="p", url="https://git.example.org/a/b.git", user="me", password="pw", privkey="/k")
    near = _settings_of("x", "../c.git", parent)
    assert (near.url, near.user, near.password) == ("https://git.example.org/a/c.git", "me", "pw")
    parent = replace(parent, submodule_hosts=("*.example.org",))
    for url in (
        "https://elsewhere.example.org/c.git",
        "https://git.example.org:8443/c.git",
        "http://git.example.org/c.git",
    ):
        far = _settings_of("x", url, parent)
        assert (far.user, far.password, far.privkey) == ("", "", "")
    hosts = ("elsewhere.example.org",)
    ssh = RemoteSettings(name="p", url="git@git.example.org:a/b.git", privkey="/k", submodule_hosts=hosts)
    assert _settings_of("x", "../c.git", ssh).url == "git@git.example.org:a/c.git"
    assert _settings_of("x", "../c.git", ssh).privkey == "/k"
    assert _settings_of("x", "ssh://git@elsewhere.example.org/c.git", ssh).privkey == ""


def test_gitmodules_as_people_write_it():
    text = """
    # a comment
    [submodule "one"]
      path = "with space" ; comment
      url=https://git.example.org/one.git # another
      branch = main
    [core]
      path = no
      url = no
    [submodule "half"]
      path = half
    """
    assert parse_gitmodules(text) == {"with space": "https://git.example.org/one.git"}


@pytest.mark.parametrize("value", ["a" + " " * 200_000 + "b", "a" + " ;" * 100_000, '"' + "\\a" * 100_000])
def test_gitmodules_with_long_lines_are_read_at_once(value):
    started = time.process_time()
    parse_gitmodules(f'[submodule "x"]\n  path = {value}\n  {value} = x\n{value}\n')
    assert time.process_time() - started < 1


def harm(mirror):
    """Cut off each object of a mirror, as a disk that was full would leave it."""
    for path in (mirror / "current" / "objects").rglob("*"):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("nested", [False, True])
def test_a_damaged_mirror_of_a_submodule_is_made_anew_by_the_next_fetch(parts, make_remote, tmp_path, nested):
    parent, child = parts
    if nested:
        inner = make_remote("inner")
        inner.commit({"deep": "down"})
        add_submodule(child, inner, "nginx/inner")
        parent.run(*ALLOW, "submodule", "update", "-q", "--remote", "salt/formula")
        parent.commit()
    path, content = ("salt/formula/nginx/inner/deep", b"down") if nested else ("salt/formula/nginx/init.sls", b"one")
    with Source([parent.settings()], (), tmp_path / "cache") as source:
        source.fetch(patience=60)
        for mirror in (tmp_path / "cache" / "submodules").iterdir():
            harm(mirror)
        with pytest.raises(OSError, match="repairs it"):
            source.live().files.read(path)
        (fetched,) = source.fetch(patience=30)
        assert not fetched.refused
        assert source.live().files.read(path) == content
        assert not list((tmp_path / "cache").rglob("damaged"))


def test_a_submodule_that_cannot_be_repaired_is_told_and_the_commit_stays_live(parts, tmp_path):
    parent, child = parts
    with Source([parent.settings()], (), tmp_path / "cache") as source:
        (before,) = source.fetch(patience=60)
        (mirror,) = (tmp_path / "cache" / "submodules").iterdir()
        harm(mirror)
        with pytest.raises(OSError, match="repairs it"):
            source.live().files.list()
        child.bare.rename(child.bare.with_name("away"))
        (fetched,) = source.fetch(patience=30)
        assert fetched.live == before.live
        assert "submodule states/salt/formula" in fetched.refused[0].reason
