from __future__ import annotations

import shutil
import subprocess

import pytest

from gitfs import LivePolicy, Mirror, SignedBy

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
