"""Names of refs that cannot be kept or shown cost their own ref, and nothing else of the remote."""

from __future__ import annotations

import subprocess

import pytest
from git_servers import Backend, serving

from gitfs.errors import FetchFailed
from gitfs.limits import GitLimits
from gitfs.mirror.mirror import Mirror
from gitfs.mirror.ref_names import fault_of, names_below_others
from gitfs.printable import printable
from gitfs.source import Source
from gitfs.transport.ref_listing import list_refs
from options.limits import uncounted


class Open(Backend):
    """git's own http-backend, for everybody."""

    def is_let_in(self):
        return True


@pytest.fixture(params=["local", "http"])
def settings(request, remote):
    """Settings of the remote, by our own transport or by git's."""
    remote.commit({"top.sls": "one"})
    if request.param == "local":
        yield remote.settings()
    else:
        with serving(remote.bare.parent, handler=Open) as port:
            yield remote.settings(url=f"http://127.0.0.1:{port}/remote.git")


def set_refs(remote, *names, packed=False):
    """Have refs of these names (bytes) in the bare repository, as a person with `git push` could."""
    head = remote.run("rev-parse", "HEAD").encode()
    given = b"".join(b"create " + name + b" " + head + b"\n" for name in names)
    done = subprocess.run(
        ["git", "-C", str(remote.bare), "update-ref", "--stdin"], input=given, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    if packed:
        remote.run("--git-dir", str(remote.bare), "pack-refs", "--all")


def fetched(source):
    (outcome,) = source.fetch(patience=60)
    assert not isinstance(outcome, FetchFailed), outcome
    return outcome


LATIN = b"caf\xe9"
LONG = b"x" * 245
DEEP = b"/".join([b"d"] * 600)


@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
@pytest.mark.parametrize(
    ("name", "shown", "why"),
    [
        (b"refs/heads/" + LATIN, r"caf\xe9", "not UTF-8"),
        (b"refs/tags/" + LATIN, r"caf\xe9", "not UTF-8"),
        (b"refs/heads/\xff/\xfe", r"\xff/\xfe", "not UTF-8"),
        (b"refs/heads/" + LONG, LONG[:200].decode() + "...", "more than 240 bytes"),
        (b"refs/heads/" + DEEP, DEEP[:200].decode() + "...", "has 1210 bytes"),
        ("refs/heads/a\x9bb".encode(), r"a\x9bb", "control characters"),
    ],
    ids=["branch", "tag", "both parts", "long", "deep", "control"],
)
def test_a_name_that_cannot_be_kept_costs_its_ref_alone(settings, remote, tmp_path, name, shown, why, packed):
    set_refs(remote, name, packed=packed)
    with Source([settings], (), tmp_path / "cache") as source:
        (refused,) = fetched(source).refused
        assert refused.branch == shown
        assert why in refused.reason
        for text in ("two", "three"):
            pushed = remote.commit({"top.sls": text})
            outcome = fetched(source)
            assert outcome.refs == {"main": pushed}
            assert outcome.refused == (refused,)
            assert source.live().files.read("top.sls") == text.encode()
        remote.run("--git-dir", str(remote.bare), "update-ref", "-d", "refs/heads/none")
        assert source.names() == ["main"]
        source.gc()
        assert not fetched(source).rebuilt


@pytest.mark.parametrize("name", ["a\u2028b", "a\u00a0b", "\u3000", "caf\u00e9", "\U0001f469\u200d\U0001f4bb"])
def test_names_that_unicode_takes_for_lines_and_spaces_are_followed(settings, remote, tmp_path, name):
    set_refs(remote, f"refs/heads/{name}".encode(), packed=True)
    with Source([settings], (), tmp_path / "cache") as source:
        assert set(fetched(source).refs) == {"main", name}
        for number in range(40):  # until the mirror packs its own refs
            remote.run("push", "-q", "origin", f"main:many-{number}")
        assert not fetched(source).refused
        pushed = remote.commit({"top.sls": "two"})
        assert fetched(source).refs["main"] == pushed
        assert source.at(name).files.read("top.sls") == b"one"


def test_many_names_at_once_and_one_that_is_not_utf_8(settings, remote, tmp_path):
    set_refs(remote, *(b"refs/heads/b%d" % number for number in range(120)), b"refs/heads/" + LATIN, packed=True)
    with Source([settings], (), tmp_path / "cache") as source:
        outcome = fetched(source)
        assert len(outcome.refs) == 121
        assert [each.branch for each in outcome.refused] == [r"caf\xe9"]
        remote.run("push", "-q", "origin", *(f":b{number}" for number in range(119)))
        assert set(fetched(source).refs) == {"main", "b119"}
        remote.run("push", "-q", "origin", ":b119", "main:b119/below")
        assert set(fetched(source).refs) == {"main", "b119/below"}


def test_a_remote_is_asked_for_its_names_whatever_they_are(settings, remote):
    set_refs(remote, b"refs/heads/" + LATIN)
    assert [name for name in list_refs(settings) if "caf" in name]


def test_refs_in_a_mirror_that_are_not_utf_8_go(remote, tmp_path):
    remote.commit({"top.sls": "one"})
    mirror = Mirror(remote.settings(), tmp_path / "mirror")
    mirror.fetch()
    head = remote.run("rev-parse", "HEAD")
    odd = b"refs/saltern/fetched/heads/" + LATIN
    given = b"create " + odd + b" " + head.encode() + b"\n"
    subprocess.run(["git", "-C", mirror.path, "update-ref", "--stdin"], input=given, check=True)
    again = Mirror(remote.settings(), tmp_path / "mirror")
    assert again.fetch().refs == {"main": head}
    assert again.names() == ["main"]


def test_a_reason_with_a_name_that_is_not_utf_8_can_be_stored(settings, remote, tmp_path):
    blob = remote.run("rev-parse", "HEAD:top.sls")
    tree = subprocess.check_output(
        ["git", "-C", str(remote.bare), "mktree"], input=f"100644 blob {blob}\tx\n".encode()
    ).strip()
    for _ in range(130):
        tree = subprocess.check_output(
            ["git", "-C", str(remote.bare), "mktree"], input=b"040000 tree " + tree + b"\t" + LATIN + b"\n"
        ).strip()
    commit = remote.run("--git-dir", str(remote.bare), "commit-tree", tree.decode(), "-p", "main", "-m", "deep")
    remote.run("--git-dir", str(remote.bare), "update-ref", "refs/heads/deep", commit)
    with Source([settings], (), tmp_path / "cache") as source:
        (refused,) = fetched(source).refused
        assert refused.branch == "deep"
        assert r"below caf\xe9/caf\xe9" in refused.reason
        refused.reason.encode()


def test_messages_authors_and_encodings_of_commits_may_be_any_bytes(settings, remote, tmp_path):
    tree = remote.run("rev-parse", "HEAD^{tree}")
    parent = remote.run("rev-parse", "HEAD")
    text = f"tree {tree}\nparent {parent}\nauthor ".encode() + LATIN + b" <\xff@x> 1700000000 +0000\ncommitter "
    text += LATIN + b" <x@x> 1700000000 +0000\nencoding no-such\n\n" + LATIN + b"\x1b[31m\n"
    commit = subprocess.check_output(
        ["git", "-C", str(remote.bare), "hash-object", "-t", "commit", "-w", "--stdin"], input=text
    )
    remote.run("--git-dir", str(remote.bare), "update-ref", "refs/heads/main", commit.decode().strip())
    with Source([settings], (), tmp_path / "cache") as source:
        assert not fetched(source).refused
        at = source.live().revision.remotes["states"]
        assert at.commit == commit.decode().strip()
        f"{at.subject} {at.author}".encode()


def test_a_folder_that_is_gone_is_named(remote, tmp_path):
    remote.commit({"top.sls": "one"})
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        fetched(source)
        away = remote.bare.rename(remote.bare.with_name("away"))
        (failed,) = source.fetch(patience=60)
        assert f"its folder {remote.bare} is gone; put the repository back" in str(failed)
        assert failed.retryable
        remote.bare.write_text("a file")
        assert "is a file and no folder" in str(source.fetch(patience=60)[0])
        remote.bare.unlink()
        away.rename(remote.bare)
        assert not fetched(source).changed


def test_a_name_below_another_is_left_out():
    names = ["heads/a", "heads/a/b", "heads/a/b/c", "heads/ab", "tags/a/b"]
    assert names_below_others(names) == {"heads/a/b": "heads/a", "heads/a/b/c": "heads/a"}


@pytest.mark.parametrize("name", ["x.lock", "x.lock/y", "a b", "a..b", "a~b", "a\x01b", "a\nb", "a//b", "a/", "@{x"])
def test_what_no_git_would_push_is_refused_by_name(name):
    assert fault_of(f"refs/heads/{name}", GitLimits(), uncounted)


def test_a_name_is_shown_without_what_a_terminal_would_obey():
    assert printable("a\x1b[31mb\nc") == r"a\x1b[31mb\nc"
    assert printable("caf\udce9") == r"caf\xe9"
    assert len(printable("x" * 5000)) == 203
