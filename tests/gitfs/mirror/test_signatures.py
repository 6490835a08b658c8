from __future__ import annotations

import shutil
import subprocess

import pytest

from gitfs.config.live_policy import LivePolicy, SignedBy
from gitfs.errors import FetchFailed
from gitfs.mirror.mirror import Mirror

pytestmark = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None or shutil.which("gpg") is None, reason="gpg or ssh-keygen is not installed"
)


@pytest.fixture
def ssh_keys(tmp_path):
    """Private keys of ops (allowed) and of a stranger, and the file of allowed signers."""
    for name in ("ops", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True)
    public = " ".join((tmp_path / "ops.pub").read_text().split()[:2])
    (tmp_path / "allowed").write_text(f'ops@example.org namespaces="git" {public}\n')
    return tmp_path


def sign_with_ssh(remote, key):
    for name, value in (("gpg.format", "ssh"), ("user.signingkey", str(key)), ("commit.gpgsign", "true")):
        remote.run("config", name, value)


def mirror_of(remote, tmp_path, signers=("ops@example.org",), refs="main", **policy):
    rules = (SignedBy(refs=refs, signers=signers),)
    return Mirror(remote.settings(policy=LivePolicy(signed_by=rules, **policy)), tmp_path / "mirror")


def reason(fetched):
    (refused,) = fetched.refused
    return refused.reason


def test_commits_signed_with_ssh(remote, ssh_keys, tmp_path):
    mirror = mirror_of(remote, tmp_path, allowed_signers=str(ssh_keys / "allowed"))
    sign_with_ssh(remote, ssh_keys / "ops")
    first = remote.commit({"top.sls": "one"})
    assert mirror.fetch().refs == {"main": first}
    remote.run("config", "commit.gpgsign", "false")
    remote.commit({"top.sls": "two"})
    assert "it is not signed" in reason(mirror.fetch())
    sign_with_ssh(remote, ssh_keys / "stranger")
    remote.commit({"top.sls": "three"})
    fetched = mirror.fetch()
    assert "its key is not in" in reason(fetched)
    assert fetched.refs == {"main": first}
    sign_with_ssh(remote, ssh_keys / "ops")
    last = remote.commit({"top.sls": "four"})
    assert mirror.fetch().refs == {"main": last}


def test_a_signature_that_was_put_under_another_commit(remote, ssh_keys, tmp_path):
    sign_with_ssh(remote, ssh_keys / "ops")
    signed = remote.commit({"top.sls": "one"})
    mirror = mirror_of(remote, tmp_path, allowed_signers=str(ssh_keys / "allowed"))
    mirror.fetch()
    raw = subprocess.run(
        ["git", "-C", str(remote.work), "cat-file", "commit", signed], capture_output=True, check=True
    ).stdout
    forged = raw.replace(b"change on main", b"another change").replace(
        b"\nauthor", f"\nparent {signed}\nauthor".encode(), 1
    )
    oid = (
        subprocess.run(
            ["git", "-C", str(remote.work), "hash-object", "-t", "commit", "-w", "--stdin"],
            input=forged,
            capture_output=True,
            check=True,
        )
        .stdout.decode()
        .strip()
    )
    remote.run("push", "-q", "origin", f"{oid}:refs/heads/main")
    assert "does not fit what is signed" in reason(mirror.fetch())


def test_a_signed_tag_and_an_unsigned_one(remote, ssh_keys, tmp_path):
    first = remote.commit({"top.sls": "one"})
    sign_with_ssh(remote, ssh_keys / "ops")
    remote.run("tag", "-s", "v1", "-m", "release")
    remote.run("tag", "-a", "v2", "-m", "release", "--no-sign")
    remote.run("tag", "v3")
    remote.run("push", "-q", "origin", "--tags")
    mirror = mirror_of(remote, tmp_path, refs="v*", allowed_signers=str(ssh_keys / "allowed"))
    fetched = mirror.fetch()
    assert fetched.refs == {"main": first}
    assert [each.branch for each in fetched.refused] == ["v2", "v3"]
    assert mirror.refs().tags == {"v1": first}


@pytest.fixture
def gpg_home(tmp_path, git_environment):
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]
    subprocess.run(
        [*gpg, "--quick-gen-key", "Ops <ops@example.org>", "ed25519", "sign"], check=True, capture_output=True
    )
    keys = subprocess.run([*gpg, "--export", "--armor"], check=True, capture_output=True).stdout
    (tmp_path / "keys.asc").write_bytes(keys)
    listed = subprocess.run([*gpg, "--list-keys", "--with-colons"], check=True, capture_output=True, text=True).stdout
    git_environment["GNUPGHOME"] = str(home)
    yield next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr:"))
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "gpg-agent"], check=False, capture_output=True)


def test_commits_signed_with_gpg(gpg_home, make_remote, tmp_path):
    remote = make_remote("states")
    remote.run("config", "user.signingkey", gpg_home)
    remote.run("config", "commit.gpgsign", "true")
    first = remote.commit({"top.sls": "one"})
    for signer in ("ops@example.org", gpg_home, "*"):
        mirror = Mirror(
            remote.settings(
                policy=LivePolicy(
                    signed_by=(SignedBy(refs="*", signers=(signer,)),), gpg_keyring=str(tmp_path / "keys.asc")
                )
            ),
            tmp_path / f"mirror-{len(signer)}",
        )
        assert mirror.fetch().refs == {"main": first}
    mirror = mirror_of(remote, tmp_path, signers=("dev@example.org",), gpg_keyring=str(tmp_path / "keys.asc"))
    remote.run("push", "-q", "origin", "main:other")
    assert "signed by ops@example.org" in reason(mirror.fetch())
    remote.run("config", "commit.gpgsign", "false")
    unsigned = mirror_of(remote, tmp_path / "x", gpg_keyring=str(tmp_path / "none.asc"))
    assert "cannot be read by gpg" in reason(unsigned.fetch())


def test_an_ssh_key_whose_time_is_over_or_has_not_come(remote, ssh_keys, tmp_path):
    sign_with_ssh(remote, ssh_keys / "ops")
    remote.commit({"top.sls": "one"})
    public = " ".join((tmp_path / "ops.pub").read_text().split()[:2])
    allowed = tmp_path / "allowed"
    for validity in ('valid-before="20200101"', 'valid-after="20990101"'):
        allowed.write_text(f'ops@example.org namespaces="git",{validity} {public}\n')
        with pytest.raises(FetchFailed, match="not valid there today"):
            mirror_of(remote, tmp_path / validity[:9], allowed_signers=str(allowed)).fetch()
    allowed.write_text(f'ops@example.org namespaces="file" {public}\n')
    with pytest.raises(FetchFailed, match="good signature"):
        mirror_of(remote, tmp_path / "other-namespace", allowed_signers=str(allowed)).fetch()
    allowed.write_text(f'ops@example.org valid-before="20990101" {public}\n')
    assert mirror_of(remote, tmp_path / "valid", allowed_signers=str(allowed)).fetch().changed


def test_a_signer_who_is_taken_off_the_list_signs_nothing_more(remote, ssh_keys, tmp_path):
    sign_with_ssh(remote, ssh_keys / "ops")
    mirror = mirror_of(remote, tmp_path, allowed_signers=str(ssh_keys / "allowed"))
    first = remote.commit({"top.sls": "one"})
    mirror.fetch()
    (ssh_keys / "allowed").write_text("")
    remote.commit({"top.sls": "two"})
    fetched = mirror.fetch()
    assert "its key is not in" in reason(fetched)
    assert fetched.refs == {"main": first}, "what is live stays live"


def test_signers_of_each_branch(remote, ssh_keys, tmp_path):
    public = " ".join((tmp_path / "stranger.pub").read_text().split()[:2])
    with (ssh_keys / "allowed").open("a") as file:
        file.write(f'dev@example.org namespaces="git" {public}\n')
    rules = (
        SignedBy(refs="main", signers=("ops@example.org",)),
        SignedBy(refs="dev-*", signers=("dev@example.org", "ops@example.org")),
    )
    policy = LivePolicy(signed_by=rules, allowed_signers=str(ssh_keys / "allowed"))
    mirror = Mirror(remote.settings(policy=policy), tmp_path / "mirror")
    sign_with_ssh(remote, ssh_keys / "ops")
    first = remote.commit({"top.sls": "one"})
    sign_with_ssh(remote, ssh_keys / "stranger")
    own = remote.commit({"top.sls": "two"}, branch="dev-1")
    remote.run("config", "commit.gpgsign", "false")
    free = remote.commit({"top.sls": "three"}, branch="free")
    remote.run("push", "-q", "origin", "dev-1:main")
    fetched = mirror.fetch()
    assert fetched.refs == {"dev-1": own, "free": free}
    assert "signed by dev@example.org, who may not sign 'main'" in reason(fetched)
    remote.run("push", "-qf", "origin", f"{first}:main")
    assert mirror.fetch().refs["main"] == first


def test_an_unsigned_merge_of_signed_parents(remote, ssh_keys, tmp_path):
    sign_with_ssh(remote, ssh_keys / "ops")
    first = remote.commit({"top.sls": "one"})
    mirror = mirror_of(remote, tmp_path, allowed_signers=str(ssh_keys / "allowed"))
    mirror.fetch()
    remote.commit({"other": "x"}, branch="side")
    remote.run("checkout", "-q", "main")
    remote.commit({"top.sls": "two"})
    assert mirror.fetch().refs["main"] != first
    remote.run("merge", "-q", "--no-gpg-sign", "--no-ff", "-m", "unsigned", "side")
    remote.run("push", "-q", "origin", "main")
    assert "it is not signed" in reason(mirror.fetch())
    remote.run("commit", "-q", "--amend", "-S", "-m", "signed")
    remote.run("push", "-qf", "origin", "main")
    assert not mirror.fetch().refused


def test_only_signed_merges_that_are_old_enough(remote, ssh_keys, tmp_path):
    now = [1000.0]
    rules = (SignedBy(refs="main", signers=("ops@example.org",)),)
    policy = LivePolicy(signed_by=rules, allowed_signers=str(ssh_keys / "allowed"), required_parents=2, minimum_age=60)
    sign_with_ssh(remote, ssh_keys / "ops")
    remote.commit({"top.sls": "one"})
    remote.commit({"other": "x"}, branch="side")
    remote.run("checkout", "-q", "main")
    remote.run("merge", "-q", "--no-ff", "-m", "first", "side")
    remote.run("push", "-q", "origin", "main", ":side")
    mirror = Mirror(remote.settings(policy=policy), tmp_path / "mirror", clock=lambda: now[0])
    first = mirror.fetch().refs["main"]
    remote.commit({"top.sls": "two"})
    assert "is not a merge" in reason(mirror.fetch())
    remote.commit({"other": "y"}, branch="again")
    remote.run("checkout", "-q", "main")
    remote.commit({"third": "z"})
    remote.run("merge", "-q", "--no-ff", "-m", "second", "again")
    remote.run("push", "-q", "origin", "main", ":again")
    assert "goes live in 60 s" in reason(mirror.fetch())
    now[0] += 60
    second = remote.run("rev-parse", "main")
    assert mirror.fetch().refs == {"main": second}
    remote.run("push", "-qf", "origin", f"{first}:main")
    assert "set back or force-pushed" in reason(mirror.fetch())


def test_a_signed_tag_of_a_signed_tag(remote, ssh_keys, tmp_path):
    remote.commit({"top.sls": "one"})
    sign_with_ssh(remote, ssh_keys / "ops")
    remote.run("tag", "-s", "inner", "-m", "release")
    remote.run("tag", "-s", "v1", "-m", "of a tag", "inner")
    remote.run("tag", "-a", "v2", "--no-sign", "-m", "unsigned, of a signed one", "inner")
    remote.run("push", "-q", "origin", "v1", "v2")
    fetched = mirror_of(remote, tmp_path, refs="v*", allowed_signers=str(ssh_keys / "allowed")).fetch()
    assert list(fetched.tags) == ["v1"]
    assert "v2" in {each.branch for each in fetched.refused}


@pytest.mark.parametrize(("end", "why"), [("expired", "its key has expired"), ("revoked", "its key was revoked")])
def test_a_gpg_key_that_has_expired_or_was_revoked(make_remote, tmp_path, git_environment, end, why):
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    then = ["--faked-system-time", "20200101T000000"] if end == "expired" else []
    gpg = [
        "gpg",
        "--homedir",
        str(home),
        "--batch",
        "--quiet",
        "--pinentry-mode",
        "loopback",
        "--passphrase",
        "",
        *then,
    ]

    def run(*arguments, given=b""):
        return subprocess.run([*gpg, *arguments], input=given, check=True, capture_output=True).stdout

    try:
        run("--quick-gen-key", "Ops <ops@example.org>", "ed25519", "sign", "2d" if then else "0")
        remote = make_remote("states")
        program = tmp_path / "gpg-then"
        program.write_text(f'#!/bin/sh\nexec gpg {" ".join(then)} "$@"\n')
        program.chmod(0o755)
        git_environment["GNUPGHOME"] = str(home)
        for name, value in (("gpg.program", program), ("user.signingkey", "ops@example.org"), ("commit.gpgsign", "1")):
            remote.run("config", name, str(value))
        remote.commit({"top.sls": "one"})
        if end == "revoked":
            (certificate,) = (home / "openpgp-revocs.d").glob("*.rev")
            run("--import", given=certificate.read_bytes().replace(b"\n:-----BEGIN", b"\n-----BEGIN"))
        (tmp_path / "keys.asc").write_bytes(run("--export", "--armor"))
        mirror = mirror_of(remote, tmp_path, gpg_keyring=str(tmp_path / "keys.asc"))
        with pytest.raises(FetchFailed, match=why):
            mirror.fetch()
    finally:
        subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "gpg-agent"], check=False, capture_output=True)
