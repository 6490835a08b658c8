from __future__ import annotations

import pickle
import socket
import subprocess
import time
from pathlib import Path

import pytest

from gitfs.config.live_policy import LivePolicy
from gitfs.config.remotes import file_remotes, pillar_remotes
from gitfs.config.settings import IgnoredFiles, RemoteSettings
from gitfs.errors import BadRemoteSettings, FetchFailed, UnknownRef
from gitfs.mirror.mirror import Mirror
from gitfs.source import Source


def only(outcomes):
    (outcome,) = outcomes
    return outcome


def test_two_remotes_overlay_with_root_and_mountpoint(make_remote, tmp_path):
    states, apps = make_remote("states"), make_remote("apps")
    first = states.commit({"salt/top.sls": "states", "salt/apps/x": "mine"})
    apps.commit({"x": "theirs", "y": "theirs"})
    remotes = file_remotes(
        {
            "gitfs_remotes": [
                {str(states.bare): [{"root": "salt"}, {"name": "states"}]},
                {str(apps.bare): [{"mountpoint": "salt://apps"}, {"name": "apps"}]},
            ]
        }
    )
    with Source(remotes, (), tmp_path / "cache") as source:
        assert [outcome.remote for outcome in source.fetch()] == ["states", "apps"]
        trees = source.live()
        assert list(trees.files.list()) == ["apps/x", "apps/y", "top.sls"]
        assert trees.files.read("apps/x") == b"mine"
        assert trees.files.read("apps/y") == b"theirs"
        revision = trees.revision
        assert revision.id == first[:8]
        assert list(revision.remotes) == ["states", "apps"]
        place = revision.remotes["states"]
        assert (place.branch, place.commit, place.subject, place.author) == (
            "main",
            first,
            "change on main",
            "A Writer",
        )
        assert place.short == first[:8]
        assert abs(place.committed - time.time()) < 3600


def test_branches_are_saltenvs(remote, tmp_path):
    remote.commit({"top.sls": "base"})
    remote.commit({"top.sls": "dev"}, branch="dev")
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        source.fetch()
        files = source.live().files
        assert files.saltenvs() == ["base", "dev"]
        assert files.read("top.sls", "dev") == b"dev"


def test_the_base_is_master_where_there_is_no_main(remote, tmp_path):
    remote.commit({"top.sls": "old"}, branch="master")
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        source.fetch()
        assert source.live().files.saltenvs() == ["base"]


def test_pillar_environments(remote, tmp_path):
    remote.commit({"pillar/top.sls": "base"})
    remote.commit({"pillar/top.sls": "dev"}, branch="dev")
    url = str(remote.bare)

    def pillar(*entries):
        config = {"git_pillar_root": "pillar", "ext_pillar": [{"git": list(entries)}]}
        with Source((), pillar_remotes(config), tmp_path / "cache") as source:
            source.fetch()
            return source.live().pillar

    every = pillar(f"__env__ {url}")
    assert {env: every.read("top.sls", env) for env in every.saltenvs()} == {"base": b"base", "dev": b"dev"}
    assert pillar(f"main {url}").saltenvs() == ["base"]
    assert pillar(f"dev {url}").saltenvs() == ["dev"]
    assert pillar({f"dev {url}": [{"env": "base"}]}).read("top.sls") == b"dev"


def test_files_and_pillar_of_one_repository_share_a_mirror(remote, tmp_path):
    remote.commit({"salt/top.sls": "s", "pillar/top.sls": "p"})
    files, pillar = remote.settings(root="salt"), remote.settings(root="pillar", branch="main")
    with Source([files], [pillar], tmp_path / "cache") as source:
        assert len(source.fetch()) == 1
        assert len(source.remotes) == 1
        trees = source.live()
        assert (trees.files.read("top.sls"), trees.pillar.read("top.sls")) == (b"s", b"p")


def test_one_name_for_two_repositories_is_refused(tmp_path):
    one, two = (RemoteSettings(name="x", url=f"https://host/{name}") for name in "ab")
    with pytest.raises(BadRemoteSettings, match="two remotes"):
        Source([one], [two], tmp_path)


def test_at_shows_a_ref_as_base_where_it_is(make_remote, tmp_path):
    states, pillar = make_remote("states"), make_remote("pillar")
    first = states.commit({"top.sls": "old"})
    states.run("tag", "v1")
    states.run("push", "-q", "origin", "v1")
    states.commit({"top.sls": "live"})
    proposed = states.commit({"top.sls": "proposed"}, branch="feature/new")
    pillar.commit({"top.sls": "pillar"})
    settings = [states.settings()], [pillar.settings(name="pillar", branch="main")]
    with Source(*settings, tmp_path / "cache") as source:
        source.fetch()
        preview = source.at("feature/new")
        assert preview.files.read("top.sls") == b"proposed"
        assert preview.pillar.read("top.sls") == b"pillar"
        assert preview.revision.id == proposed[:8]
        assert preview.revision.remotes["states"].branch == "feature/new"
        assert preview.revision.digest != source.live().revision.digest
        assert source.at("v1").files.read("top.sls") == b"old"
        assert source.at(first[:10]).files.read("top.sls") == b"old"
        assert source.at("main").files.read("top.sls") == b"live"
        with pytest.raises(UnknownRef, match="'feature/new'") as unknown:
            source.at("feature/nwe")
        assert unknown.value.near == ("feature/new",)
        for bad in ("--help", "a..b", "", "main:top.sls", "HEAD~1"):
            with pytest.raises(UnknownRef, match="cannot be the name"):
                source.at(bad)


def test_a_preview_of_a_rebased_branch_shows_what_was_pushed(remote, tmp_path):
    remote.commit({"top.sls": "live"})
    remote.commit({"top.sls": "first"}, branch="feature")
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        source.fetch()
        remote.run("reset", "-q", "--hard", "main")
        (remote.work / "top.sls").write_text("again")
        remote.run("commit", "-qam", "again")
        remote.run("push", "-qf", "origin", "feature")
        assert only(source.fetch()).refused
        assert source.at("feature").files.read("top.sls") == b"again"
        assert source.live().files.read("top.sls", "feature") == b"first"


def test_a_restart_without_the_remote_serves_what_was_accepted(remote, tmp_path):
    remote.commit({"top.sls": "one"})
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        source.fetch()
        before = source.live()
    remote.bare.rename(remote.bare.with_name("away"))
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        assert source.live() == before
        assert isinstance(only(source.fetch()), FetchFailed)
        assert source.live().files.read("top.sls") == b"one"


def test_before_anything_was_fetched_there_is_nothing(remote, tmp_path):
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        trees = source.live()
        assert list(trees.files.saltenvs()) == []
        assert trees.revision.id == trees.revision.digest[:8]
        assert trees.missing == ("states",)


def test_a_remote_that_never_came_is_told_with_the_trees(make_remote, tmp_path):
    states, pillar = make_remote("states"), make_remote("pillar")
    states.commit({"top.sls": "one"})
    pillar.commit({"top.sls": "two"}, branch="other")
    with Source([states.settings()], [pillar.settings(name="pillar", branch="main")], tmp_path / "cache") as source:
        source.fetch()
        assert source.live().missing == ("pillar",)
        pillar.commit(branch="main")
        source.fetch()
        assert source.live().missing == ()


def test_a_remote_that_never_answers_delays_no_other(remote, tmp_path):
    last = remote.commit({"top.sls": "one"})
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/x.git"
        dead = RemoteSettings(name="dead", url=url)
        with Source([dead, remote.settings()], (), tmp_path / "cache") as source:
            failed, fetched = source.fetch(patience=0.5)
            assert isinstance(failed, FetchFailed)
            assert failed.remote == "dead"
            assert failed.retryable
            assert fetched.refs == {"main": last}
            assert [outcome.remote for outcome in source.fetch(["states"])] == ["states"]
            assert source.live().files.read("top.sls") == b"one"
            silent.close()
            # The connection that was accepted by the kernel is reset, and the fetch that hung ends.
            assert isinstance(only(source.fetch(["dead"])), FetchFailed)


def test_roots_lie_over_the_remotes(remote, tmp_path):
    remote.commit({"top.sls": "git", "only": "git"})
    roots = tmp_path / "roots"
    roots.mkdir()
    (roots / "top.sls").write_text("local")
    with Source([remote.settings()], (), tmp_path / "cache", file_roots={"base": [roots]}) as source:
        source.fetch(["roots", "states"])
        assert source.live().files.read("top.sls") == b"local"
        assert source.live().files.read("only") == b"git"
        assert source.roots == (roots,)
        before = source.live().revision
        (roots / "top.sls").write_text("changed")
        assert source.live().revision.digest != before.digest


def test_a_message_in_an_encoding_that_does_not_exist(remote, tmp_path):
    remote.commit({"top.sls": "one"})
    (remote.work / "message").write_bytes(b"caf\xe9")
    remote.run("-c", "i18n.commitEncoding=nonsense", "commit", "-q", "--allow-empty", "-F", "message")
    remote.run("push", "-q", "origin", "main")
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        source.fetch()
        assert source.live().revision.remotes["states"].subject == "caf\ufffd"


def test_a_mirror_that_cannot_be_written_is_a_failure_like_others(remote, tmp_path):
    remote.commit({"top.sls": "one"})
    (tmp_path / "cache").write_text("a file where the directory should be")
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        failed = only(source.fetch())
        assert isinstance(failed, FetchFailed)
        assert "cannot be written" in failed.reason


def test_tags_are_saltenvs_and_move_by_the_policy(remote, tmp_path):
    first = remote.commit({"top.sls": "one"})
    remote.run("tag", "-a", "v1", "-m", "release")
    remote.run("tag", "moves")
    remote.run("push", "-q", "origin", "--tags")
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        source.fetch()
        assert source.live().files.saltenvs() == ["base", "moves", "v1"]
        assert source.live().files.read("top.sls", "v1") == b"one"
        second = remote.commit({"top.sls": "two"})
        remote.run("tag", "-f", "moves")
        remote.run("push", "-qf", "origin", "moves")
        assert only(source.fetch()).tags["moves"] == second
        remote.run("tag", "-f", "moves", first)
        remote.run("push", "-qf", "origin", "moves")
        assert "set back" in only(source.fetch()).refused[0].reason
        assert source.live().files.read("top.sls", "moves") == b"two"
        remote.run("push", "-q", "origin", ":v1")
        source.fetch()
        assert source.live().files.saltenvs() == ["base", "moves"]


def test_a_commit_as_base_stays_where_it_is(remote, tmp_path):
    first = remote.commit({"top.sls": "one"})
    remote.commit({"top.sls": "two"})
    with Source([remote.settings(base=first)], (), tmp_path / "cache") as source:
        source.fetch()
        assert source.live().files.read("top.sls") == b"one"
        assert source.live().files.read("top.sls", "main") == b"two"


def test_pull_requests_are_for_previews_only(remote, tmp_path):
    remote.commit({"top.sls": "live"})
    remote.commit({"top.sls": "proposed"}, branch="feature")
    remote.run("push", "-q", "origin", "feature:refs/pull/7/head", ":feature")
    with Source([remote.settings(pull_requests=True)], (), tmp_path / "cache") as source:
        source.fetch()
        assert source.live().files.saltenvs() == ["base"]
        for name in ("pull/7", "pull/7/head", "refs/pull/7/head"):
            assert source.at(name).files.read("top.sls") == b"proposed"
    with Source([remote.settings()], (), tmp_path / "other") as source:
        source.fetch()
        with pytest.raises(UnknownRef):
            source.at("pull/7")


def test_refspecs_say_what_is_a_branch(remote, tmp_path):
    remote.commit({"top.sls": "live"})
    remote.run("push", "-q", "origin", "main:refs/releases/r1", "main:refs/heads/not-wanted")
    refspecs = ("+refs/heads/main:refs/remotes/origin/main", "+refs/releases/*:refs/remotes/origin/release/*")
    with Source([remote.settings(refspecs=refspecs)], (), tmp_path / "cache") as source:
        source.fetch()
        assert source.live().files.saltenvs() == ["base", "release/r1"]


def test_the_order_of_backends(remote, tmp_path):
    remote.commit({"top.sls": "git", "only-git": ""})
    roots = tmp_path / "roots"
    roots.mkdir()
    (roots / "top.sls").write_text("roots")
    (roots / "only-roots").write_text("")
    seen = {}
    for backends in (("roots", "git"), ("git", "roots"), ("git",), ("roots",)):
        with Source([remote.settings()], (), tmp_path / "cache", {"base": [roots]}, backends=backends) as source:
            source.fetch()
            files = source.live().files
            seen[backends] = (files.read("top.sls"), len(files.list()))
    assert seen == {
        ("roots", "git"): (b"roots", 3),
        ("git", "roots"): (b"git", 3),
        ("git",): (b"git", 2),
        ("roots",): (b"roots", 2),
    }


def test_ignored_files_are_in_no_tree(remote, tmp_path):
    remote.commit({"top.sls": "one", "top.sls~": "old", "a/.svn/x": "x"})
    ignored = IgnoredFiles(globs=("*~",), regexes=(r"/\.svn($|/)",))
    with Source([remote.settings()], (), tmp_path / "cache", ignored=ignored) as source:
        source.fetch()
        files = source.live().files
        assert list(files.list()) == ["top.sls"]
        assert pickle.loads(pickle.dumps(files)).digest == files.digest


def test_all_saltenvs_and_fallback_fill_what_others_bring(make_remote, tmp_path):
    states, common, shared = make_remote("states"), make_remote("common"), make_remote("shared")
    states.commit({"top.sls": "base"})
    states.commit({"top.sls": "dev"}, branch="dev")
    common.commit({"common": "c"})
    shared.commit({"shared": "s"})
    shared.commit({"shared": "of dev"}, branch="dev")
    remotes = [
        states.settings(),
        common.settings(name="common", all_saltenvs="main"),
        shared.settings(name="shared", fallback="main"),
    ]
    roots = {"qa": [tmp_path / "qa"]}
    with Source(remotes, (), tmp_path / "cache", roots) as source:
        source.fetch()
        files = source.live().files
        assert {env: list(files.list(saltenv=env)) for env in files.saltenvs()} == {
            "base": ["common", "shared", "top.sls"],
            "dev": ["common", "shared", "top.sls"],
            "qa": ["common", "shared"],
        }
        assert (files.read("shared", "dev"), files.read("shared", "qa")) == (b"of dev", b"s")


def test_two_remotes_with_the_same_basename(make_remote, tmp_path):
    one, two = make_remote("one/states"), make_remote("two/states")
    one.commit({"x": "1"})
    two.commit({"y": "2"})
    remotes = file_remotes({"gitfs_remotes": [str(one.bare), f"file://{two.bare}"]})
    with Source(remotes, (), tmp_path / "cache") as source:
        source.fetch()
        assert list(source.live().files.list()) == ["x", "y"]


def test_many_branches_are_kept_in_one_file(remote, tmp_path):
    commit = remote.commit({"top.sls": "one"})
    lines = "".join(f"create refs/heads/b{number} {commit}\n" for number in range(500))
    subprocess.run(["git", "-C", str(remote.bare), "update-ref", "--stdin"], input=lines, text=True, check=True)
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        assert len(only(source.fetch()).refs) == 501
        mirror = Path(source.mirrors_of("states")[0][1].path)
        assert sum(path.is_file() for path in (mirror / "refs").rglob("*")) < 10
        remote.run("push", "-q", "origin", ":b7")
        second = remote.commit({"top.sls": "two"})
        fetched = only(source.fetch())
        assert len(fetched.refs) == 500
        assert fetched.refs["main"] == second
        assert len(source.live().files.saltenvs()) == 500
        (mirror / "HEAD").unlink()
        assert only(source.fetch()).rebuilt
        assert len(source.live().files.saltenvs()) == 500


def test_a_minimum_age_outlives_a_restart(remote, tmp_path):
    now = [1000.0]
    settings = remote.settings(policy=LivePolicy(minimum_age=60))

    def fetch():
        return Mirror(settings, tmp_path / "mirror", clock=lambda: now[0]).fetch()

    first = remote.commit({"top.sls": "one"})
    assert fetch().refs == {"main": first}
    second = remote.commit({"top.sls": "two"})
    assert "goes live in 60 s" in fetch().refused[0].reason
    now[0] += 59
    assert "goes live in 1 s" in fetch().refused[0].reason
    now[0] += 1
    assert fetch().refs == {"main": second}


def _merged(make_remote, tmp_path, then):
    """(remote, source) after a branch `topic` was made, and the trees of merging it after `then(remote)`."""
    remote = make_remote("states")
    remote.commit({"a": "1\n2\n3\n4\n5\n6\n7\n8\n", "b": "old"})
    remote.commit({"a": "1\n2\n3\n4\n5\n6\n7\neight\n"}, branch="topic")
    then(remote)
    source = Source([remote.settings()], (), tmp_path / "cache")
    source.fetch()
    return remote, source


def test_a_branch_is_merged_as_a_forge_would(make_remote, tmp_path):
    """What came to the base meanwhile is on both sides; a file that both have changed has both changes."""
    _, source = _merged(make_remote, tmp_path, lambda it: it.commit({"a": "one\n2\n3\n4\n5\n6\n7\n8\n", "b": "new"}))
    with source:
        found = source.merged("main", "topic")
        assert found.merged
        assert not found.problems
        assert found.after.revision.remotes["states"].commit == source.at("topic").revision.remotes["states"].commit
        assert [trees.files.read("b") for trees in (found.before, found.after)] == [b"new", b"new"]
        assert found.after.files.read("a") == b"one\n2\n3\n4\n5\n6\n7\neight\n"
        assert found.before.files.digest == source.live().files.digest
        again = source.merged("main", "topic")
        assert again.after.revision.digest == found.after.revision.digest


def test_a_branch_that_conflicts_is_compared_with_where_it_branched_off(make_remote, tmp_path):
    _, source = _merged(make_remote, tmp_path, lambda it: it.commit({"a": "1\n2\n3\n4\n5\n6\n7\nacht\n", "b": "new"}))
    with source:
        found = source.merged("main", "topic")
        assert not found.merged
        (problem,) = found.problems
        assert "conflicts with main in a" in problem
        assert [trees.files.read("b") for trees in (found.before, found.after)] == [b"old", b"old"]
        assert found.before.files.read("a").endswith(b"8\n")
        assert found.after.files.read("a").endswith(b"eight\n")


def test_a_branch_ahead_of_its_base_is_itself(make_remote, tmp_path):
    _, source = _merged(make_remote, tmp_path, lambda it: None)
    with source:
        found = source.merged("main", "topic")
        assert found.merged
        assert found.after.revision.digest == source.at("topic").revision.digest
        with pytest.raises(UnknownRef, match="nothing"):
            source.merged("main", "nothing")
        with pytest.raises(UnknownRef, match="cannot be"):
            source.merged("-x", "topic")
