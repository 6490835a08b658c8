from __future__ import annotations

import fnmatch
import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitfs.config.credentials import reveal
from gitfs.config.remotes import backends, file_remotes, ignored_files, pillar_includes, pillar_remotes
from gitfs.config.settings import IgnoredFiles, PerSaltenv, RemoteSettings, prepared_name
from gitfs.config.urls import canonical, redact
from gitfs.errors import BadRemoteSettings
from matching.linear_regex import PatternRefused


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
        ([{"https://host/x": [{"fallback": "-x"}]}], "name of a branch"),
        ([{"https://host/x": [{"ref_types": ["branches"]}]}], "list of branch, tag, sha"),
        ([{"https://host/x": [{"refspecs": ["+refs/heads/*:refs/elsewhere/*"]}]}], "refs/remotes/origin"),
        ([{"https://host/x": [{"refspecs": ["+refs/heads/*:refs/tags/x"]}]}], "one `\\*` on both sides"),
        ([{"https://host/x": [{"saltenv_whitelist": ["("]}]}], "neither a glob nor a regular"),
        ([{"https://host/x": [{"saltenv": [{"dev": [{"reff": "x"}]}]}]}], "saltenv: dev: .*did you mean 'ref'"),
        ([{"https://host/x": None}], "remove the colon"),
        ([{"https://host/x": [{"signed_by": [{"main": ["a"]}]}]}], "needs keys"),
        ([{"https://host/x": [{"password": {"file": "relative"}}]}], "absolute/path"),
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
    with pytest.raises(BadRemoteSettings, match=message) as bad:
        file_remotes({"gitfs_remotes": remotes})
    assert "gitfs_remotes" in str(bad.value)
    assert "pw" not in str(bad.value)


def test_every_fault_has_its_path():
    options = [{"root": 1}, {"lfs": "x"}, {"saltenv": [{"dev": {"root": "../x"}}]}]
    with pytest.raises(BadRemoteSettings) as bad:
        file_remotes({"gitfs_user": [], "gitfs_remotes": ["/a", {"/b": options}, {"/c": {"name": "roots"}}, 5]})
    assert [fault.path for fault in bad.value.faults] == [
        ("gitfs_user",),
        ("gitfs_remotes", 1, "/b", 1, "lfs"),
        ("gitfs_remotes", 1, "/b", 2, "saltenv", 0, "dev", "root"),
        ("gitfs_remotes", 2, "/c", "name"),
        ("gitfs_remotes", 3),
    ]
    assert str(bad.value).splitlines() == [str(fault) for fault in bad.value.faults]


@pytest.mark.parametrize("option", ["base", "root", "lfs", "fallback"])
def test_null_is_no_value_of_an_option(option):
    with pytest.raises(BadRemoteSettings, match=f"{option} must be"):
        file_remotes({"gitfs_remotes": [{"https://host/x": [{option: None}]}]})


def test_an_empty_ref_of_a_saltenv_hides_that_for_all_remotes():
    """An empty text is a value, as in Salt: it takes the place of what `gitfs_saltenv` says."""
    everywhere = [{"dev": [{"ref": "develop"}, {"root": "a"}]}]
    (remote,) = file_remotes(
        {"gitfs_saltenv": everywhere, "gitfs_remotes": [{"/x": [{"saltenv": [{"dev": [{"ref": ""}]}]}]}]}
    )
    assert remote.saltenvs == (PerSaltenv(saltenv="dev", ref="", root="a"),)


def test_unknown_global_option():
    with pytest.raises(BadRemoteSettings, match="'gitfs_rooot'; did you mean 'gitfs_root'"):
        file_remotes({"gitfs_rooot": "x"})


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"git_pillar_brnch": "x"}, "'git_pillar_brnch'; did you mean 'git_pillar_branch'"),
        ({"ext_pillar": [{"git": [{"main https://host/x": [{"rooot": "x"}]}]}]}, r"git\[0\].*did you mean 'root'"),
        ({"git_pillar_mountpoint": "x"}, "did you mean"),
        ({"git_pillar_name": "x"}, "an option of one remote"),
    ],
)
def test_unknown_options_of_pillar(config, message):
    with pytest.raises(BadRemoteSettings, match=message):
        pillar_remotes(config)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"gitfs_saltenv": [{"dev": [{"montpoint": "x"}]}]}, "gitfs_saltenv: dev: .*did you mean 'mountpoint'"),
        ({"gitfs_update_intervall": 5}, "did you mean 'gitfs_update_interval'"),
        ({"gitfs_all_saltenvs": "x"}, "an option of one remote"),
    ],
)
def test_unknown_options_for_all_remotes(config, message):
    with pytest.raises(BadRemoteSettings, match=message):
        file_remotes(config)


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


def test_a_pillar_remote_without_a_branch_shows_its_base():
    config = {"ext_pillar": [{"git": ["https://host/a.git"]}]}
    (plain,) = pillar_remotes(config)
    (named,) = pillar_remotes({**config, "git_pillar_branch": "trunk"})
    assert (plain.branch, plain.only_base) == (None, True)
    assert (named.branch, named.only_base) == ("trunk", False)


def test_the_order_of_the_backends():
    assert backends({}) == ("roots", "git")
    assert backends({"fileserver_backend": ["gitfs", "roots"]}) == ("git", "roots")
    assert backends({"fileserver_backend": ["git"]}) == ("git",)
    with pytest.raises(BadRemoteSettings, match="no backend 's3fs'"):
        backends({"fileserver_backend": ["roots", "s3fs"]})


def test_ignored_files():
    ignored = ignored_files({"file_ignore_glob": ["*.swp", "*/.svn/*"], "file_ignore_regex": r"/\.bzr($|/)"})
    is_ignored = ignored.prepared()
    assert [is_ignored(path) for path in ("a/x.swp", "a/.svn/x", "a/.bzr/x", "a/x")] == [True, True, True, False]
    with pytest.raises(BadRemoteSettings, match="no regular expression"):
        ignored_files({"file_ignore_regex": ["("]})


def test_a_pattern_that_could_take_for_ever_is_refused_or_run_in_linear_time():
    with pytest.raises(
        BadRemoteSettings, match=r"looks ahead .* cannot be run in bounded time here: write it without$"
    ):
        ignored_files({"file_ignore_regex": [r"^(?!.*\.sls$).*"]})
    with pytest.raises(BadRemoteSettings, match="refers to a group"):
        RemoteSettings(name="x", url="https://host/x", saltenv_blacklist=(r"(a*)*\1",))
    slow = ".?" * 200 + "Z"
    assert not ignored_files({"file_ignore_regex": [slow]}).prepared()("a" * 200)
    assert not prepared_name(slow)("a" * 200)


_PIECES = st.sampled_from(
    ["a", "b", "/", ".", "*", "+", "?", "|", "(", ")", "[ab]", "[!a]", "$", "^", r"\.", r"\b", "é"]
)
_NAMES = st.text("ab/.é\n", max_size=8)


@settings(max_examples=400, deadline=None)
@given(st.lists(_PIECES, max_size=8).map("".join), st.lists(_NAMES, min_size=1, max_size=5))
def test_patterns_answer_as_pythons(pattern, names):
    for ignored, expected in (
        (IgnoredFiles(globs=(pattern,)), lambda name: fnmatch.fnmatchcase(name, pattern)),
        (IgnoredFiles(regexes=(pattern,)), lambda name: re.search(pattern, name) is not None),
    ):
        try:
            is_ignored = ignored.prepared()
        except (re.error, PatternRefused):
            continue
        assert [is_ignored(name) for name in names] == [expected(name) for name in names]
    try:
        fits = prepared_name(pattern)
        whole = re.compile(rf"\A(?:{pattern})\Z")
    except (re.error, PatternRefused):
        return
    expected = [
        name == pattern or fnmatch.fnmatchcase(name, pattern) or whole.match(name) is not None for name in names
    ]
    assert [fits(name) for name in names] == expected


WALKTHROUGH = """
fileserver_backend: [gitfs, roots]
gitfs_provider: pygit2
gitfs_update_interval: 120
gitfs_base: develop
gitfs_ref_types: [branch, tag]
gitfs_saltenv_blacklist: [v1.*]
gitfs_saltenv:
  - dev:
    - mountpoint: salt://bar
gitfs_refspecs:
  - '+refs/heads/*:refs/remotes/origin/*'
  - '+refs/tags/*:refs/tags/*'
  - '+refs/pull/*/head:refs/remotes/origin/pr/*'
gitfs_ssl_verify: True
gitfs_global_lock: True
gitfs_remotes:
  - git://git.example.org/foo.git
  - https://git.example.org/bar.git:
    - root: salt
    - mountpoint: salt://baz
    - base: master
    - name: bar
    - user: joe
    - password: mypassword
    - insecure_auth: True
    - ssl_verify: False
    - proxy: http://proxy.example.org:3128
    - disable_saltenv_mapping: True
    - saltenv_whitelist: base, dev
    - saltenv:
      - base:
        - ref: foo
      - dev:
        - ref: develop
        - root: other/salt
    - all_saltenvs: master
    - fallback: master
    - update_interval: 30
  - git@git.example.org:user/baz.git:
    - pubkey: /root/.ssh/id_rsa.pub
    - privkey: /root/.ssh/id_rsa
    - passphrase: myawesomepassphrase
  - file:///root/repo
git_pillar_base: develop
git_pillar_env: qa
git_pillar_verify_config: True
git_pillar_includes: True
git_pillar_update_interval: 60
ext_pillar:
  - git:
    - master https://git.example.org/pillar-foo.git:
      - env: prod
      - root: pillar
      - mountpoint: web/server/
    - dev https://git.example.org/pillar-bar.git
    - https://git.example.org/pillar-plain.git
"""


def test_a_configuration_with_every_option_of_the_walkthrough():
    config = yaml.safe_load(WALKTHROUGH)
    foo, bar, baz, local = file_remotes(config)
    assert foo.base == "develop"
    assert foo.saltenvs == (PerSaltenv(saltenv="dev", mountpoint="bar"),)
    assert foo.saltenv_blacklist == ("v1.*",)
    assert bar.saltenvs == (
        PerSaltenv(saltenv="dev", ref="develop", root="other/salt", mountpoint="bar"),
        PerSaltenv(saltenv="base", ref="foo"),
    )
    assert (bar.all_saltenvs, bar.fallback, bar.saltenv_whitelist) == ("master", "master", ("base", "dev"))
    assert (bar.proxy, bar.update_interval) == ("http://proxy.example.org:3128", 30.0)
    assert (baz.privkey, local.url) == ("/root/.ssh/id_rsa", "file:///root/repo")
    first, second, third = pillar_remotes(config)
    assert (first.branch, first.saltenv, first.mountpoint) == ("master", "prod", "web/server")
    assert (second.saltenv, third.only_base) == ("qa", True)


def test_secrets_that_stand_elsewhere(tmp_path):
    (tmp_path / "token").write_text("s3cret\n")
    one, two = file_remotes(
        {
            "gitfs_remotes": [
                {"https://host/x": [{"user": "a"}, {"password": {"file": str(tmp_path / "token")}}]},
                {"https://host/y": [{"user": "a"}, {"password": {"env": "SALTERN_TEST_NOT_SET"}}]},
            ]
        }
    )
    assert reveal(one.password) == "s3cret"
    with pytest.raises(LookupError, match="SALTERN_TEST_NOT_SET"):
        reveal(two.password)


def test_bad_pillar_remotes():
    with pytest.raises(BadRemoteSettings, match=r"ext_pillar\[0\]\.git\[0\]: write `BRANCH URL`"):
        pillar_remotes({"ext_pillar": [{"git": [" "]}]})
    with pytest.raises(BadRemoteSettings, match="`all_saltenvs` has a meaning"):
        pillar_remotes({"ext_pillar": [{"git": [{"main https://host/a.git": [{"all_saltenvs": "x"}]}]}]})
    with pytest.raises(BadRemoteSettings, match="must be true or false"):
        pillar_includes({"git_pillar_includes": "no"})
    with pytest.raises(BadRemoteSettings, match="no meaning with `__env__`"):
        pillar_remotes({"ext_pillar": [{"git": [{"__env__ https://host/a.git": [{"env": "base"}]}]}]})


@pytest.mark.parametrize(
    "url",
    ["https://me@git.example.com/infra/x.git", "git@git.example.com:infra/x", "ssh://git@git.example.com:22/infra/x/"],
)
def test_canonical(url):
    assert canonical(url) == "git.example.com/infra/x"
