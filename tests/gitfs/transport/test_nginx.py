"""git behind nginx, with TLS and a password: what works, what is said when it does not, and secrets nowhere."""

from __future__ import annotations

import contextlib
import datetime
import logging
import os
import traceback

import pytest
import trustme
from git_servers import PASSWORD, USER, nginx, serving

from gitfs.config.settings import RemoteSettings
from gitfs.errors import FetchFailed
from gitfs.mirror.mirror import Mirror
from gitfs.tree.git_layer import GitLayer
from gitfs.tree.snapshot import Snapshot

WRONG = "wr0ng-word"


@pytest.fixture
def behind(nginx_program, remote, tmp_path):
    """A function: the URL of the remote behind an nginx with this certificate, whose files are in `nginx`."""
    (tmp_path / "nginx").mkdir()
    with contextlib.ExitStack() as servers:

        def serve(certificate, *directives):
            certificate.private_key_and_cert_chain_pem.write_to_path(tmp_path / "nginx/server.pem")
            upstream = servers.enter_context(serving(remote.bare.parent))
            port = servers.enter_context(nginx(nginx_program, tmp_path / "nginx", upstream, directives))
            return f"https://localhost:{port}/remote.git"

        yield serve


@pytest.fixture
def authority(tmp_path):
    """A CA, and the file of its certificate."""
    made = trustme.CA()
    made.cert_pem.write_to_path(tmp_path / "ca.pem")
    return made, str(tmp_path / "ca.pem")


def mirror_of(folder, url, **options):
    return Mirror(RemoteSettings(name="far", url=url, **options), folder / "mirror")


def refused(mirror):
    """Why a fetch failed, after looking for secrets in all that an error leaves."""
    with pytest.raises(FetchFailed) as failed:
        mirror.fetch()
    told = "".join(traceback.format_exception(failed.value)) + repr(failed.value) + repr(mirror.settings)
    assert PASSWORD not in told
    assert WRONG not in told
    return failed.value


def expect_no_secret_in(folder):
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert PASSWORD.encode() not in content, path
            assert WRONG.encode() not in content, path


def test_a_password_and_a_ca_of_ones_own(behind, authority, remote, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    url = behind(authority[0].issue_cert("localhost"))
    first = remote.commit({"top.sls": "one", "large": os.urandom(3_000_000)})
    mirror = mirror_of(tmp_path, url, user=USER, password=PASSWORD, ssl_verify=authority[1])
    assert mirror.fetch().refs == {"main": first}
    second = remote.commit({"top.sls": "two"})
    assert mirror.fetch().refs == {"main": second}
    layer = GitLayer.of(mirror.path, "far", second)
    assert Snapshot(environments={"base": (layer,)}).read("top.sls") == b"two"
    wrong = mirror_of(tmp_path / "b", url, user=USER, password=WRONG, ssl_verify=authority[1])
    assert "refused the credentials" in refused(wrong).reason
    assert not refused(wrong).retryable
    assert "asks for credentials" in refused(mirror_of(tmp_path / "c", url, ssl_verify=authority[1])).reason
    assert PASSWORD not in caplog.text
    assert PASSWORD not in (tmp_path / "nginx/access.log").read_text()
    expect_no_secret_in(tmp_path / "mirror")
    expect_no_secret_in(tmp_path / "b")


def test_a_ca_that_signed_nothing_of_this_server(behind, remote, tmp_path):
    url = behind(trustme.CA().issue_cert("localhost"))
    remote.commit({"top.sls": "one"})
    trustme.CA().cert_pem.write_to_path(tmp_path / "other.pem")
    failed = refused(mirror_of(tmp_path, url, user=USER, password=PASSWORD, ssl_verify=str(tmp_path / "other.pem")))
    assert "certificate" in failed.reason
    assert not failed.retryable
    access = tmp_path / "nginx/access.log"
    assert not access.exists() or USER not in access.read_text(), "credentials went to a server that is not known"


def test_an_expired_certificate(behind, authority, remote, tmp_path):
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    days = datetime.timedelta(days=1)
    expired = authority[0].issue_cert("localhost", not_before=now - 9 * days, not_after=now - days)
    url = behind(expired)
    remote.commit({"top.sls": "one"})
    failed = refused(mirror_of(tmp_path, url, user=USER, password=PASSWORD, ssl_verify=authority[1]))
    assert "certificate" in failed.reason
    assert not failed.retryable


def test_a_remote_behind_a_server_that_breaks(behind, authority, remote, tmp_path):
    url = behind(authority[0].issue_cert("localhost"), "location /broken/ { return 502; }")
    remote.commit({"top.sls": "one"})
    broken = url.replace("/remote.git", "/broken/remote.git")
    failed = refused(mirror_of(tmp_path, broken, user=USER, password=PASSWORD, ssl_verify=authority[1]))
    assert "502" in failed.reason
    assert failed.retryable


def test_a_client_certificate(behind, authority, remote, tmp_path):
    remote.commit({"top.sls": "one"})
    clients, strangers = trustme.CA(), trustme.CA()
    clients.cert_pem.write_to_path(tmp_path / "clients.pem")
    for name, issuer in (("ours", clients), ("strange", strangers)):
        made = issuer.issue_cert("minion.example.org")
        made.private_key_pem.write_to_path(tmp_path / f"{name}.key")
        made.cert_chain_pems[0].write_to_path(tmp_path / f"{name}.pem")
    url = behind(
        authority[0].issue_cert("localhost"), f"ssl_client_certificate {tmp_path}/clients.pem; ssl_verify_client on;"
    )
    options = {"user": USER, "password": PASSWORD, "ssl_verify": authority[1]}
    with_own = {"ssl_cert": str(tmp_path / "ours.pem"), "ssl_key": str(tmp_path / "ours.key")}
    assert mirror_of(tmp_path / "a", url, **options, **with_own).fetch().changed
    for name, more in {
        "none": {},
        "strange": {"ssl_cert": str(tmp_path / "strange.pem"), "ssl_key": str(tmp_path / "strange.key")},
    }.items():
        reason = refused(mirror_of(tmp_path / name, url, **options, **more)).reason
        assert "400" in reason
        assert ("ssl_cert" in reason) == (not more), "it says what the server may want"
    for more in (
        {**with_own, "ssl_cert": str(tmp_path / "missing.pem")},
        {**with_own, "ssl_key": str(tmp_path / "strange.key")},
        {**with_own, "ssl_cert": str(tmp_path / "ours.key")},
    ):
        failed = refused(mirror_of(tmp_path / "c", url, **options, **more))
        assert str(tmp_path) in failed.reason, "the file is named"
    wrong = {**options, "password": WRONG}
    assert "refused the credentials" in refused(mirror_of(tmp_path / "d", url, **wrong, **with_own)).reason
    key = (tmp_path / "ours.key").read_bytes()
    assert not [p for p in (tmp_path / "a").rglob("*") if p.is_file() and key.splitlines()[1] in p.read_bytes()]


def test_each_remote_has_its_own_authority(behind, authority, remote, tmp_path):
    remote.commit({"top.sls": "one"})
    other = trustme.CA()
    other.cert_pem.write_to_path(tmp_path / "other.pem")
    one, two = behind(authority[0].issue_cert("localhost")), behind(other.issue_cert("localhost"))
    options = {"user": USER, "password": PASSWORD}
    assert mirror_of(tmp_path / "a", one, **options, ssl_verify=authority[1]).fetch().changed
    assert mirror_of(tmp_path / "b", two, **options, ssl_verify=str(tmp_path / "other.pem")).fetch().changed
    assert "certificate" in refused(mirror_of(tmp_path / "c", two, **options, ssl_verify=authority[1])).reason
    assert "certificate" in refused(mirror_of(tmp_path / "d", one, **options)).reason
