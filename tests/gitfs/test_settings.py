from __future__ import annotations

import pytest

from gitfs import BadSettings, RemoteSettings, canonical, file_remotes, pillar_remotes, redact


def test_strings_and_options_with_defaults():
    plain, full = file_remotes(
        {
            "gitfs_base": "trunk",
            "gitfs_root": "salt/",
            "gitfs_user": "reader",
            "gitfs_provider": "pygit2",
            "file_roots": {},
            "gitfs_remotes": [
                "https://git.example.com/infra/states.git",
                {
                    "https://git.example.com/infra/apps.git": [
                        {"name": "apps"},
                        {"base": "main"},
                        {"root": ""},
                        {"mountpoint": "salt://apps/"},
                        {"update_interval": 5},
                        {"ssl_verify": "/etc/ca.pem"},
                    ]
                },
            ],
        }
    )
    assert plain == RemoteSettings(
        name="git.example.com/infra/states",
        url="https://git.example.com/infra/states.git",
        base="trunk",
        root="salt",
        user="reader",
    )
    assert (full.name, full.base, full.root, full.mountpoint) == ("apps", "main", "", "apps")
    assert full.update_interval == 5.0
    assert full.ssl_verify == "/etc/ca.pem"


def test_no_remotes():
    assert file_remotes({}) == ()
    assert pillar_remotes({"ext_pillar": [{"cmd_json": "echo {}"}]}) == ()


def test_userinfo_moves_out_of_the_url_and_out_of_sight():
    (remote,) = file_remotes({"gitfs_remotes": ["https://me:s3cr%40t@git.example.com/x.git"]})
    assert remote.url == "https://git.example.com/x.git"
    assert (remote.user, remote.password) == ("me", "s3cr@t")
    assert "s3cr" not in repr(remote)
    assert redact("no https://me:s3cr@t@host/x here") == "no https://host/x here"


def test_ssh_keeps_its_user():
    (remote,) = file_remotes({"gitfs_remotes": [{"ssh://git@host:22/x.git": [{"privkey": "/k"}, {"passphrase": "p"}]}]})
    assert remote.url == "ssh://git@host:22/x.git"
    assert "passphrase" not in repr(remote)


@pytest.mark.parametrize(
    ("remotes", "message"),
    [
        (["ext::sh -c id"], "option or a command"),
        (["--upload-pack=id"], "option or a command"),
        (["https://host/x\n.git"], "control character"),
        (["states"], "absolute path"),
        (["ftp://host/x"], "scheme 'ftp'"),
        (["https:///x"], "names no host"),
        (["ssh://-oProxyCommand=id/x"], "names no host"),
        (["ssh://-oProxyCommand=id@host/x"], "begins with a dash"),
        (["git@-oProxyCommand=id:x"], "no URL"),
        (["ssh://git:pw@host/x"], "takes no password"),
        (["http://me:pw@host/x"], "in the clear"),
        ("https://host/x", "must be a list"),
        ([["a"]], r"gitfs_remotes\[0\]: write a URL"),
        ([{"https://host/x": [{"rooot": "salt"}]}], r"gitfs_remotes\[0\].*'rooot'; did you mean 'root'"),
        ([{"https://host/x": [{"fallback": "main"}]}], "not supported"),
        ([{"https://host/x": [{"root": "a"}, {"root": "b"}]}], "given twice"),
        ([{"https://host/x": [{"root": "../etc"}]}], "inside the repository"),
        ([{"https://host/x": [{"base": "-x"}]}], "name of a branch"),
        ([{"https://host/x": [{"base": "a b"}]}], "name of a branch"),
        ([{"https://host/x": [{"update_interval": 0}]}], "above 0"),
        ([{"https://host/x": [{"insecure_auth": "yes"}]}], "true or false"),
        ([{"https://host/x": [{"ssl_verify": "ca.pem"}]}], "absolute path"),
        ([{"https://host/x": [{"name": "a"}]}, {"https://host/y": [{"name": "a"}]}], "two remotes are named"),
        ([{"https://host/x": [{"name": "roots"}]}], "cannot be a remote's name"),
    ],
)
def test_bad_remotes(remotes, message):
    with pytest.raises(BadSettings, match=message) as bad:
        file_remotes({"gitfs_remotes": remotes})
    assert "gitfs_remotes" in str(bad.value)
    assert "pw" not in str(bad.value)


def test_unknown_global_option():
    with pytest.raises(BadSettings, match="'gitfs_rooot'; did you mean 'gitfs_root'"):
        file_remotes({"gitfs_rooot": "x"})


def test_pillar_remotes():
    base, named, prod, every = pillar_remotes(
        {
            "git_pillar_root": "pillar",
            "ext_pillar": [
                {
                    "git": [
                        "main https://host/a.git",
                        {"dev https://host/a.git": [{"env": "base"}]},
                        {"prod https://host/a.git": [{"root": ""}]},
                        "__env__ https://host/b.git",
                    ]
                }
            ],
        }
    )
    assert (base.branch, base.saltenv, base.root) == ("main", None, "pillar")
    assert (named.branch, named.saltenv) == ("dev", "base")
    assert (prod.branch, prod.root) == ("prod", "")
    assert (every.branch, every.saltenv) == (None, None)


def test_bad_pillar_remotes():
    with pytest.raises(BadSettings, match=r"ext_pillar\[0\]\.git\[0\]: write `BRANCH URL`"):
        pillar_remotes({"ext_pillar": [{"git": ["https://host/a.git"]}]})
    with pytest.raises(BadSettings, match="no meaning with `__env__`"):
        pillar_remotes({"ext_pillar": [{"git": [{"__env__ https://host/a.git": [{"env": "base"}]}]}]})


@pytest.mark.parametrize(
    "url",
    ["https://me@git.example.com/infra/x.git", "git@git.example.com:infra/x", "ssh://git@git.example.com:22/infra/x/"],
)
def test_canonical(url):
    assert canonical(url) == "git.example.com/infra/x"
