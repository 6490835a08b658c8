"""Pushing a branch to a remote: it never moves one, it ends in time whatever the server does, and it tells no secret.

The pushes are those of `Source.push`: a process of its own, git's own http backend or a hostile server behind it.
"""

from __future__ import annotations

import base64
import dataclasses
import time

import pytest
from git_servers import Backend, serving
from hostile_git import hangs, hostile, pkt_line, redirects

from gitfs.config.settings import RemoteSettings
from gitfs.errors import FetchFailed
from gitfs.limits import GitLimits
from gitfs.mirror.file_commits import CommitIdentity, FileEdits
from gitfs.source import Source

PASSWORD = "w0rd-for-writing"
WRITER = "Basic " + base64.b64encode(f"writer:{PASSWORD}".encode()).decode()
BRANCH = "adopt/web1/motd"
SECONDS = 2.0
SOMEBODY = CommitIdentity(name="A", email="a@example.org")


class Writers(Backend):
    """Only the writer may push."""

    def is_let_in(self):
        return self.headers.get("Authorization") == WRITER


@pytest.fixture
def made(remote, tmp_path):
    """A function: a source whose remote is pushed to with some options, the commit to push, and what is counted."""
    sources = []
    remote.commit({"motd": "welcome\n"})
    remote.run("config", "http.receivepack", "true", cwd=remote.bare)

    def make(**options):
        limits = options.pop("limits", GitLimits(push_seconds=SECONDS))
        counted = []
        source = Source(
            [remote.settings(insecure_auth=True, **options)],
            (),
            tmp_path / f"cache{len(sources)}",
            limits=limits,
            on_refusal=counted.append,
        )
        sources.append(source)
        (fetched,) = source.fetch(patience=60)
        assert not isinstance(fetched, FetchFailed), fetched
        base, mirror = remote.run("rev-parse", "HEAD"), next(one for _, one in source.mirrors_of("states"))
        edits = FileEdits(
            base=base, files={"motd": b"by hand\n"}, message="adopted\n", author=SOMEBODY, committer=SOMEBODY, at=1
        )
        commit = source.edit(mirror.path, edits).commit
        return lambda branch=BRANCH: source.push("states", mirror.path, commit, branch), commit, counted

    yield make
    for source in sources:
        source.close()


@pytest.fixture
def served(remote):
    """(URL, handler class) of git's own server, to which the writer alone may push."""
    with serving(remote.bare.parent, handler=Writers) as port:
        yield f"http://127.0.0.1:{port}/remote.git"


def writes(url, **options):
    return {"push_url": url, "push_user": "writer", "push_password": PASSWORD, **options}


def refused(push, *, retryable=None):
    with pytest.raises(FetchFailed) as failed:
        push()
    assert PASSWORD not in str(failed.value)
    assert WRITER not in str(failed.value)
    if retryable is not None:
        assert failed.value.retryable is retryable
    return failed.value.reason


def heads(remote):
    lines = remote.run("for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads/", cwd=remote.bare)
    return dict(line.split() for line in lines.splitlines())


def test_a_new_branch_is_there_with_the_very_commit_and_may_be_pushed_again(made, remote, served):
    push, commit, _ = made(**writes(served))
    push()
    push()
    assert heads(remote)[BRANCH] == commit
    assert remote.run("show", f"{commit}:motd", cwd=remote.bare) == "by hand"


def test_a_branch_with_another_commit_stays(made, remote, served):
    push, _, _ = made(**writes(served))
    before = remote.commit({"other": "1"}, BRANCH)
    assert "there is a branch adopt/web1/motd already, with another commit" in refused(push, retryable=False)
    assert heads(remote)[BRANCH] == before


def test_a_branch_that_somebody_makes_meanwhile_is_not_moved(made, remote):
    """It has the commit's own parent, so that a push without force would take it for a step forward."""
    base = []

    class Meanwhile(Writers):
        at = "POST"

        def _answer(self):
            if self.at == "GET":
                super()._answer()
            if self.command == self.at and "git-receive-pack" in self.path and self.is_let_in():
                remote.run("update-ref", f"refs/heads/{BRANCH}", base[0], cwd=remote.bare)
            if self.at != "GET":
                super()._answer()

    class BetweenTwoQuestions(Meanwhile):
        at = "GET"

    for handler in (Meanwhile, BetweenTwoQuestions):
        with serving(remote.bare.parent, handler=handler) as port:
            push, commit, _ = made(**writes(f"http://127.0.0.1:{port}/remote.git"))
            base[:] = [remote.run("rev-parse", "HEAD")]
            refused(push)
        assert heads(remote)[BRANCH] == base[0] != commit, handler.__name__
        remote.run("update-ref", "-d", f"refs/heads/{BRANCH}", cwd=remote.bare)


def test_what_a_hook_of_the_remote_declines_is_told(made, remote, served):
    hook = remote.bare / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    push, _, _ = made(**writes(served))
    assert refused(push) == "the remote does not take the branch adopt/web1/motd: hook declined"
    assert BRANCH not in heads(remote)


def test_wrong_credentials_are_told_without_them(made, remote, served):
    push, _, _ = made(**writes(served, push_password="another-word"))
    reason = refused(push, retryable=False)
    assert "refused the credentials" in reason
    assert "another-word" not in reason
    assert BRANCH not in heads(remote)


def test_credentials_for_reading_are_not_those_for_writing(made, remote, served):
    push, _, _ = made(user="writer", password=PASSWORD, push_url=served)
    assert "asks for credentials" in refused(push)
    assert BRANCH not in heads(remote)


def test_a_server_that_redirects_is_shown_no_credentials(made):
    shown = []

    def asks(request):
        shown.append(request.headers.get("Authorization"))
        request.send_response(401)
        request.send_header("WWW-Authenticate", 'Basic realm="git"')
        request.send_header("Content-Length", "0")
        request.end_headers()

    with hostile(asks) as thief, hostile(redirects(thief.url.removesuffix("/x.git"))) as server:
        push, _, _ = made(**writes(server.url))
        assert "which is not shown the credentials" in refused(push)
    assert set(shown) == {None}


def receives(answer):
    """A server with no branch that takes packs, and answers them so."""

    def behave(request):
        if request.command == "GET":
            request.close_connection = False
            request.send_response(200)
            request.send_header("Content-Type", "application/x-git-receive-pack-advertisement")
            request.send_header("Transfer-Encoding", "chunked")
            request.end_headers()
            request.send(pkt_line(b"# service=git-receive-pack\n") + b"0000")
            request.send(pkt_line(b"0" * 40 + b" capabilities^{}\0report-status ofs-delta\n") + b"0000")
            request.send(b"")
            return
        take_body(request)
        request.send_response(200)
        request.send_header("Content-Type", "application/x-git-receive-pack-result")
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        answer(request)

    return behave


def take_body(request):
    if request.headers.get("Transfer-Encoding") != "chunked":
        request.rfile.read(int(request.headers.get("Content-Length") or 0))
        return
    while size := int(request.rfile.readline(), 16):
        request.rfile.read(size + 2)
    request.rfile.readline()


def says(*lines):
    def answer(request):
        request.send(b"".join(map(pkt_line, lines)) + b"0000")
        request.send(b"")

    return answer


def test_a_server_that_says_nothing_is_given_up_in_time(made):
    for behaviour in (hangs, receives(hangs)):
        with hostile(behaviour) as server:
            push, _, counted = made(**writes(server.url))
            began = time.monotonic()
            assert "it took more than 2 s (limit push-seconds)" in refused(push, retryable=True)
            assert time.monotonic() - began < 30, "the time-outs of libgit2 are longer"
            assert counted == ["push-seconds"]


def test_an_answer_without_end_is_cut_off_by_its_bytes(made):
    def floods(request):
        while not request.server.go_on.is_set():
            request.send(pkt_line(b"ok refs/heads/" + b"x" * 60_000))

    limits = GitLimits(push_seconds=60.0, advertisement_bytes=1_000_000)
    with hostile(receives(floods)) as server:
        push, _, counted = made(**writes(server.url), limits=limits)
        assert "what it answers takes more than 1000000 bytes (limit advertisement-bytes)" in refused(push)
    assert counted == ["advertisement-bytes"]


@pytest.mark.parametrize(
    "answer",
    [
        says(b"unpack index-pack abnormal exit\n", f"ng refs/heads/{BRANCH} unpacker error\n".encode()),
        says(b"unpack ok\n", f"ng refs/heads/{BRANCH} {'n' * 60_000}\n".encode()),
        says(b"unpack ok\n", f"ng refs/heads/{BRANCH} \x1b[31mred\n".encode()),
        says(b"nonsense\n"),
        says(b"unpack ok\n"),
        says(b"unpack ok\n", b"ok refs/heads/another\n"),
        says(),
        lambda request: request.send(b"ffff"),
    ],
    ids=["unpack", "long", "control", "nonsense", "no-ref", "other-ref", "empty", "frame"],
)
def test_an_answer_that_does_not_say_that_the_branch_was_taken_is_a_failure(made, answer):
    with hostile(receives(answer)) as server:
        push, _, _ = made(**writes(server.url))
        reason = refused(push)
    assert len(reason) <= 1100
    assert reason.isprintable()


def test_a_branch_that_is_taken(made):
    """The server of the cases above, when it says what git says."""
    with hostile(receives(says(b"unpack ok\n", f"ok refs/heads/{BRANCH}\n".encode()))) as server:
        push, _, _ = made(**writes(server.url))
        push()


def test_the_settings_for_pushing_show_no_secret():
    settings = RemoteSettings(name="states", url="https://git.example.org/x", push_user="w", push_password=PASSWORD)
    assert PASSWORD not in repr(settings)
    assert PASSWORD not in repr(settings.for_push())
    reading = settings.without_push()
    assert not reading.takes_branches
    assert PASSWORD not in str(dataclasses.asdict(reading))
