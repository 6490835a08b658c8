"""Repositories whose .gitmodules were written by somebody who wants more than submodules. Nothing of it is ever run."""

from __future__ import annotations

import pytest

from gitfs.source import Source

URLS = [
    "ext::sh -c touch% {trap}",
    "ext::sh -c 'touch {trap}'",
    "--upload-pack=touch {trap}",
    "-u touch {trap}",
    "ssh://-oProxyCommand=touch {trap}/x",
    "ssh://git@-oProxyCommand=touch {trap}/x",
    "-oProxyCommand=touch {trap}:x",
    "git@-oProxyCommand=touch:x",
    "file:///{trap}\nurl = x",
    "fd::17/x",
    "transport::/srv/x",
    "javascript:alert(1)",
    "gopher://git.example.org/x",
    "!touch {trap}",
    "$(touch {trap})",
    "`touch {trap}`",
    "a; touch {trap}",
    "https://",
    "https:///x",
    "https://user:pa%0Ass@git.example.org/\u0000x",
    "",
    " ",
]


@pytest.fixture
def hostile(remote, make_remote, tmp_path):
    """A function: what a fetch says after `.gitmodules` became this, the gitlink being at `path`."""
    child = make_remote("child")
    inner = child.commit({"x": "inner"})
    remote.commit({"top.sls": "one"})
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        source.fetch(patience=30)
        before = source.live()

        def push(text, path="sub"):
            (remote.work / ".gitmodules").write_text(text.replace("{child}", str(child.bare)))
            remote.run("add", ".gitmodules")
            remote.run("update-index", "--add", "--cacheinfo", f"160000,{inner},{path}")
            remote.run("commit", "-qm", "hostile")
            remote.run("push", "-q", "origin", "main")
            (outcome,) = source.fetch(patience=30)
            return outcome, source, before

        yield push


@pytest.mark.parametrize("url", URLS)
def test_no_url_runs_anything(hostile, tmp_path, url):
    trap = tmp_path / "trap"
    text = f'[submodule "x"]\n\tpath = sub\n\turl = {url.replace("{trap}", str(trap))}\n'
    outcome, source, before = hostile(text)
    assert not trap.exists()
    if outcome.refused:
        assert source.live() == before
        assert "submodule" in outcome.refused[0].reason
        assert len(outcome.refused[0].reason) < 600
    else:
        assert list(source.live().files.list()) == [".gitmodules", "top.sls"], "it has no address: it is left out"


PATHS = ["../sub", "/etc", "sub/../../x", "..", ".", "", ".git", "sub/.", "./sub", "sub\\..", "-x", "~"]


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_out_of_the_tree(hostile, tmp_path, path):
    before_outside = sorted(tmp_path.iterdir())
    outcome, source, _ = hostile(f'[submodule "x"]\n\tpath = {path}\n\turl = {{child}}\n')
    assert not outcome.refused
    assert list(source.live().files.list()) == [".gitmodules", "top.sls"]
    assert sorted(tmp_path.iterdir()) == sorted({*before_outside})


@pytest.mark.parametrize(
    "text",
    [
        '[include]\n\tpath = /etc/passwd\n[submodule "x"]\n\tpath = sub\n\turl = {child}\n',
        '[submodule "../../../etc"]\n\tpath = sub\n\turl = {child}\n',
        '[submodule "x"]\n\tpath = sub\n\turl = {child}\n\tupdate = !touch x\n\tfetchRecurseSubmodules = yes\n',
        '[submodule "x"]\n\tpath = sub\n\turl = {child}\n\tbranch = --upload-pack=x\n\tshallow = true\n',
        '[submodule "x"]\n\tpath = sub\n\turl = {child}\n[core]\n\tsshCommand = touch /tmp/never\n\tfsmonitor = x\n',
    ],
    ids=["include", "name", "update", "branch", "core"],
)
def test_what_else_is_written_there_means_nothing(hostile, text):
    outcome, source, _ = hostile(text)
    assert not outcome.refused
    assert source.live().files.read("sub/x") == b"inner"


def test_one_that_is_too_large_or_not_a_file(hostile, remote):
    outcome, source, before = hostile("# " + "x" * 300_000)
    assert ".gitmodules is no file, or too large" in outcome.refused[0].reason
    assert source.live() == before


def test_more_submodules_than_anybody_has(hostile, remote):
    inner = "12" * 20
    lines = []
    for number in range(201):
        remote.run("update-index", "--add", "--cacheinfo", f"160000,{inner},s{number}")
        lines.append(f'[submodule "s{number}"]\n\tpath = s{number}\n\turl = https://git.example.org/s{number}.git\n')
    outcome, source, before = hostile("".join(lines))
    assert "more than 200 submodules" in outcome.refused[0].reason
    assert source.live() == before


def test_a_circle_of_two(remote, make_remote, tmp_path):
    other = make_remote("other")
    other.commit({"x": "other"})
    remote.commit({"x": "one"})
    for _ in range(4):
        for here, there in ((remote, other), (other, remote)):
            tip = there.run("rev-parse", "HEAD")
            (here.work / ".gitmodules").write_text(f'[submodule "o"]\n\tpath = o\n\turl = {there.bare}\n')
            here.run("add", ".gitmodules")
            here.run("update-index", "--add", "--cacheinfo", f"160000,{tip},o")
            here.run("commit", "-qm", "circle")
            here.run("push", "-q", "origin", "main")
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        (outcome,) = source.fetch(patience=60)
        assert "nested deeper than 5" in str(outcome)
