"""The options `push_*` of a remote: what cannot go together is refused, and what reads never writes."""

import pytest

from gitfs.config.remotes import file_remotes
from gitfs.config.settings import RemoteSettings
from gitfs.errors import BadRemoteSettings


def one(url, **options):
    pairs = [{name: value} for name, value in options.items()]
    (remote,) = file_remotes({"gitfs_remotes": [{url: pairs}]})
    return remote


@pytest.mark.parametrize(
    ("url", "options", "message"),
    [
        ("https://host/x", {"push_url": "http://host/x", "push_password": "pw", "push_user": "w"}, "in the clear"),
        ("https://host/x", {"push_url": "http://host/x", "push_token": "pw"}, "in the clear"),
        ("http://host/x", {"push_token": "pw"}, "in the clear"),
        ("git://host/x", {"push_user": "w"}, "nothing is pushed by git://"),
        ("https://host/x", {"push_url": "git://host/x"}, "nothing is pushed by git://"),
        ("https://host/x", {"push_url": "https://w:pw@host/x"}, "push_url holds a password"),
        ("https://host/x", {"push_url": "ext::sh -c id"}, "push_url.*option or a command"),
        ("https://host/x", {"push_url": "ssh://-oProxyCommand=id/x"}, "push_url.*names no host"),
        ("https://host/x", {"push_user": "w", "push_token": "pw"}, "not both"),
        ("https://host/x", {"push_password": "pw", "push_token": "pw2"}, "not both"),
        ("ssh://git@host/x", {"push_privkey": "id_ed25519"}, "absolute path"),
        ("https://host/x", {"push_pasword": "pw"}, "did you mean 'push_password'"),
    ],
)
def test_what_cannot_be_used_is_refused_without_the_secret(url, options, message):
    with pytest.raises(BadRemoteSettings, match=message) as bad:
        one(url, **options)
    assert "pw" not in str(bad.value).replace("push_pasword", "")


def test_a_remote_without_any_takes_no_branches():
    assert not one("https://host/x", user="reader", password="r").takes_branches
    for options in ({"push_url": "/srv/x"}, {"push_user": "w"}, {"push_token": "t"}, {"push_privkey": "/k"}):
        assert one("https://host/x", **options).takes_branches, options


def test_credentials_for_reading_are_never_shown_for_writing():
    reading = one("https://host/x", user="reader", password="r-word", push_user="writer", push_password="w-word")
    writing = reading.for_push()
    assert (writing.user, writing.password, writing.url) == ("writer", "w-word", "https://host/x")
    assert not writing.takes_branches
    assert "r-word" not in map(str, writing.secrets.values())
    alone = one("https://host/x", user="reader", password="r-word", push_url="https://host/y").for_push()
    assert (alone.user, alone.password, alone.token, alone.url) == ("", "", "", "https://host/y")
    token = one("https://host/x", token="r-token", push_token="w-token").for_push()
    assert (token.token, token.user) == ("w-token", "")
    key = one("ssh://git@host/x", privkey="/r", pubkey="/r.pub", passphrase="r", push_privkey="/w").for_push()
    assert (key.privkey, key.pubkey) == ("/w", "")


def test_what_reads_is_given_nothing_to_write_with():
    whole = one("https://host/x", push_url="https://host/y", push_user="w", push_password="w-word")
    assert whole.without_push() == RemoteSettings(
        **{name: getattr(whole, name) for name in RemoteSettings.__slots__ if not name.startswith("push_")}
    )
    assert "w-word" not in repr(whole.without_push().secrets)


def test_a_secret_for_writing_may_stand_elsewhere(tmp_path):
    file = tmp_path / "token"
    file.write_text("w-token\n")
    remote = one("https://host/x", push_token={"file": str(file)})
    assert remote.takes_branches
    assert "w-token" not in repr(remote)
