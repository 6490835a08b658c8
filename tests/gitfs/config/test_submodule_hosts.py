"""Submodules come from the remote's own host, and from those that its settings name."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from contextlib import suppress
from types import SimpleNamespace

import pygit2
import pytest
from git_servers import Backend, serving
from hostile_git import advertises, hostile, redirects

from gitfs.config.remotes import file_remotes
from gitfs.config.settings import RemoteSettings
from gitfs.config.submodule_hosts import address_fault, host_fault
from gitfs.errors import BadRemoteSettings, BadTree, FetchFailed
from gitfs.limits import GitLimits
from gitfs.mirror.completed_mirror import open_submodule_mirror
from gitfs.transport.callbacks import ConnectionRefused
from gitfs.transport.https_proxy import _SubmoduleRedirects, endpoint_of
from gitfs.tree.gitlinks import _settings_of

PARENT = "https://git.example.org/a/b.git"
METADATA = "169.254.169.254"


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example.org/c.git",
        "https://GIT.example.org/c.git",
        "ssh://git@git.example.org/c.git",
        "git@git.example.org:c.git",
        "/srv/c.git",
    ],
)
def test_the_own_host_needs_no_setting(url):
    assert host_fault(url, PARENT, ()) is None
    assert address_fault(url, PARENT, ()) is None


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://github.com/x.git", "github.com"),
        ("git@github.com:x.git", "github.com"),
        ("http://127.0.0.1/x.git", "127.0.0.1"),
        ("http://[::1]/x.git", "::1"),
        (f"http://{METADATA}/latest/x.git", METADATA),
        ("https://git.example.org.evil.org/x.git", "git.example.org.evil.org"),
        ("https://evilgit.example.org/x.git", "evilgit.example.org"),
        ("https://git.example.org:2375/x.git", "git.example.org"),
    ],
)
@pytest.mark.parametrize("parent", [PARENT, "git@git.example.org:a/b.git", "/srv/states.git"])
def test_others_are_refused_with_what_to_set(url, host, parent):
    fault = host_fault(url, parent, ())
    assert f"add it to `submodule_hosts` ([{host}])" in fault
    assert host_fault(url, parent, (host,)) is None


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "::1", METADATA, "0.0.0.0", "2130706433", "0x7f.1", "::ffff:127.0.0.1", "fe80::1", "localhost"],
)
def test_a_pattern_lets_nobody_into_this_machine(host):
    url = f"http://[{host}]/x.git" if ":" in host else f"http://{host}/x.git"
    assert host_fault(url, PARENT, ("*",)) is None
    assert "inside this machine or link" in address_fault(url, PARENT, ("*",))
    assert address_fault(url, PARENT, ("*", host)) is None
    assert address_fault(url, url, ()) is None, "the remote itself is there"


def test_a_name_that_leads_inside_is_refused(monkeypatch):
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (METADATA, 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    assert METADATA in address_fault("https://x.example.org/x.git", PARENT, ("*.example.org",))


def test_the_option():
    remotes = [{"https://git.example.org/a.git": [{"submodule_hosts": ["github.com", "*.example.net"]}]}, PARENT]
    own, other = file_remotes({"gitfs_remotes": remotes, "gitfs_submodule_hosts": "gitlab.com"})
    assert own.submodule_hosts == ("github.com", "*.example.net")
    assert other.submodule_hosts == ("gitlab.com",)
    assert _settings_of("x", "https://git.example.net/x.git", own).url == "https://git.example.net/x.git"
    with pytest.raises(
        BadTree, match=r"submodule 'x': git.example.net is not the host of the remote; .*\[git.example.net\]"
    ):
        _settings_of("x", "https://git.example.net/x.git", other)
    for bad in ("https://github.com", "a/b", "git@github.com", ""):
        with pytest.raises(BadRemoteSettings, match="is no host"):
            RemoteSettings(name="x", url=PARENT, submodule_hosts=(bad,))


def fetched_from(tmp_path, url, *hosts):
    settings = RemoteSettings(name="states/sub", url=url, submodule_hosts=hosts)
    mirror = open_submodule_mirror(settings, tmp_path / f"mirror-{len(hosts)}", GitLimits())
    with pytest.raises(FetchFailed) as caught:
        mirror.fetch_commit("12" * 20)
    return str(caught.value)


@pytest.mark.parametrize("hosts", [(), ("*",)], ids=["own host alone", "a pattern"])
def test_a_redirect_leads_nowhere_else(tmp_path, hosts):
    with hostile(advertises(3)) as inside, hostile(redirects(inside.url.removesuffix("/x.git"))) as server:
        server.behaviour = redirects(inside.url.removesuffix("/x.git").replace("127.0.0.1", "localhost"))
        why = (
            "localhost leads to 127.0.0.1, inside" if hosts else "redirects to localhost/x.git/info/refs, which is not"
        )
        assert why in fetched_from(tmp_path, server.url, *hosts)
        assert not inside.seen
        assert "which is not followed" not in fetched_from(tmp_path, server.url, *hosts, "localhost")
        assert inside.seen


def test_a_redirect_on_the_same_server_is_followed(remote, tmp_path):
    head = remote.commit({"top.sls": "one"})

    class Moved(Backend):
        def is_let_in(self):
            return True

        def do_GET(self):  # noqa: N802 - as the class has it
            if self.path.startswith("/old/"):
                self.send_response(301)
                self.send_header("Location", self.path.removeprefix("/old"))
                self.send_header("Content-Length", "0")
                self.end_headers()
            else:
                super().do_GET()

    with serving(remote.bare.parent, handler=Moved) as port:
        settings = RemoteSettings(name="states/sub", url=f"http://127.0.0.1:{port}/old/remote.git")
        mirror = open_submodule_mirror(settings, tmp_path / "mirror", GitLimits())
        mirror.fetch_commit(head)
        assert mirror.has(head)


@pytest.fixture
def rebinding(monkeypatch):
    """A name that leads to a public address when it is asked for first, and to this machine from then on."""
    real, asked = socket.getaddrinfo, []

    def resolve(host, port, *rest, **options):
        if host != "rebinding.example.org":
            return real(host, port, *rest, **options)
        asked.append(host)
        address = "203.0.113.1" if len(asked) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return "rebinding.example.org"


def test_a_name_that_changes_after_the_check_leads_nowhere_else(tmp_path, rebinding):
    with hostile(advertises(3)) as inside:
        url = inside.url.replace("127.0.0.1", rebinding)
        assert address_fault(url, PARENT, ("*.example.org",)) is None
        settings = RemoteSettings(name="states/sub", url=url, submodule_hosts=("*.example.org",))
        with (
            pytest.raises(ConnectionRefused, match=r"leads to 127\.0\.0\.1, inside this machine"),
            endpoint_of(settings, submodule_of=PARENT) as endpoint,
        ):
            with suppress(urllib.error.HTTPError):
                urllib.request.urlopen(endpoint.url + "/info/refs?service=git-upload-pack")
            raise pygit2.GitError("what libgit2 makes of it")
        assert not inside.seen


def test_git_without_http_is_asked_at_the_address_that_was_checked(rebinding):
    settings = RemoteSettings(name="states/sub", url=f"git://{rebinding}/x.git", submodule_hosts=("*.example.org",))
    with endpoint_of(settings, submodule_of=PARENT) as endpoint:
        assert endpoint.url == "git://203.0.113.1/x.git"
    with pytest.raises(ConnectionRefused, match=r"leads to 127\.0\.0\.1"), endpoint_of(settings, submodule_of=PARENT):
        pytest.fail("it leads inside by now")
    with endpoint_of(settings, submodule_of=settings.url) as endpoint:
        assert endpoint.url == settings.url, "the remote's own host may be anywhere"


def test_a_redirect_does_not_leave_tls():
    settings = RemoteSettings(name="states/sub", url=PARENT)
    handler = _SubmoduleRedirects(SimpleNamespace(settings=settings, remote=PARENT))
    asked = urllib.request.Request(PARENT + "/info/refs?service=git-upload-pack")
    for scheme, followed in (("http", False), ("https", True)):
        moved = asked.full_url.replace("https", scheme)
        assert (handler.redirect_request(asked, None, 301, "", {}, moved) is not None) is followed
