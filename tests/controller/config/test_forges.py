"""The option `forges`: faults with their places, secrets that are not shown, and which remote is which project."""

from __future__ import annotations

import os

import pytest

from controller.config.checks import check_git
from controller.config.forges import project_of, projects_of, read_forges, withhold_secrets
from controller.config.settings import BadControllerSettings, load_settings
from controller.forges.settings import ForgeSettings
from gitfs.config.credentials import SecretFrom, reveal


def forges(tmp_path, text):
    (tmp_path / "controller").write_text(text)
    return load_settings(tmp_path).forges


def faults(tmp_path, text):
    with pytest.raises(BadControllerSettings) as raised:
        forges(tmp_path, text)
    return [str(fault).removeprefix(f"{tmp_path}/") for fault in raised.value.faults]


def forge(tmp_path, kind, api=""):
    line = f"    api: {api}\n" if api else ""
    return forges(tmp_path, f"forges:\n  - name: f\n    kind: {kind}\n    token: x\n{line}")[0]


def test_a_forge_is_read(tmp_path):
    text = (
        "forges:\n"
        "  - name: hub\n    kind: github\n    app_id: 12\n    private_key: {file: /k.pem}\n    installation_id: 7\n"
        "  - name: cloud\n    kind: bitbucket\n    user: a@example.org\n    token: {vault: secret/x?token}\n"
        "    projects: {states: /infra/states/}\n    poll_interval: 5\n    previews: {comment: new}\n"
    )
    hub, cloud = forges(tmp_path, text)
    assert (hub.own.app_id, hub.own.installation_id, hub.api) == ("12", "7", "https://api.github.com")
    assert hub.own.private_key == SecretFrom("file", "/k.pem")
    assert cloud.own.user == "a@example.org"
    assert cloud.token == SecretFrom("vault", "secret/x?token")
    assert cloud.projects == {"states": "infra/states"}
    assert cloud.previews == {"comment": "new"}
    assert (cloud.poll_interval, cloud.place) == (5, f"{tmp_path}/controller:7")


def test_every_fault_is_named_with_its_line(tmp_path):
    text = (
        "forges:\n"
        "  - name: a\n    knd: github\n    token: x\n"
        "  - name: b\n    kind: githup\n    token: [hunter2]\n"
        "  - name: c\n    kind: gitea\n    token: x\n    previews:\n      strangers: all\n      coment: new\n"
        "  - name: d\n    kind: gitea\n    token: x\n"
        "  - name: e\n    kind: github\n    app_id: 3\n"
        "  - name: f\n    kind: gitlab\n"
        "  - name: g\n    kind: gitlab\n    token: x\n    app_id: 3\n    private_key: y\n"
        "  - name: h\n    kind: github\n    token: x\n    installation_id: 3\n"
        "  - text\n"
    )
    found = faults(tmp_path, text)
    assert [each.partition(": ")[0] for each in found] == [
        f"controller:{line}" for line in (3, 6, 7, 12, 13, 14, 17, 20, 25, 26, 27, 31)
    ]
    assert found[0].endswith("forges: a: there is no 'knd'; did you mean kind?")
    assert "forges: b: kind must be one of azure-devops, bitbucket" in found[1]
    assert not any("hunter2" in each for each in found)
    assert found[3].endswith("strangers must be one of none, restricted, not 'all'")
    assert "did you mean comment?" in found[4]
    assert "needs api" in found[5]
    assert "needs both app_id and private_key" in found[6]
    assert "needs token" in found[7]
    assert found[8].endswith("forges: g: there is no 'app_id'; it is an option of the kind github")
    assert "there is no 'private_key'" in found[9]
    assert "installation_id goes with app_id" in found[10]
    assert "each entry must be a mapping" in found[11]


@pytest.mark.parametrize(
    "api", ["http://git.example.org", "ftp://x", "git.example.org", "https://u:p@x", "https://x?y", "https://x:99999"]
)
def test_addresses_over_which_no_token_goes(tmp_path, api):
    assert "api must be" in faults(tmp_path, f"forges:\n  - {{name: a, kind: gitea, token: x, api: '{api}'}}\n")[0]


def test_two_forges_of_one_name(tmp_path):
    one = "  - {name: a, kind: github, token: x}\n"
    assert "there is another forge 'a'" in faults(tmp_path, f"forges:\n{one}{one}")[0]


def test_secrets_are_not_shown(tmp_path):
    found = forges(tmp_path, "forges:\n  - {name: a, kind: github, token: hunter2}\n")
    assert found[0].token == "hunter2"
    assert "hunter2" not in repr(found)
    found = forges(tmp_path, "forges:\n  - {name: a, kind: github, app_id: 3, private_key: hunter2}\n")
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    ("kind", "given", "api"),
    [
        ("github", "", "https://api.github.com"),
        ("github", "https://github.com", "https://api.github.com"),
        ("github", "https://ghe.example.org", "https://ghe.example.org/api/v3"),
        ("github", "https://ghe.example.org/api/v3/", "https://ghe.example.org/api/v3"),
        ("github", "https://api.acme.ghe.com", "https://api.acme.ghe.com"),
        ("gitlab", "https://git.example.org/lab", "https://git.example.org/lab/api/v4"),
        ("gitea", "http://127.0.0.1:3000", "http://127.0.0.1:3000/api/v1"),
        ("bitbucket", "", "https://api.bitbucket.org/2.0"),
        ("bitbucket-datacenter", "https://bb.example.org/bb/rest/api/1.0", "https://bb.example.org/bb/rest"),
        ("azure-devops", "https://dev.azure.com/acme", "https://dev.azure.com/acme"),
    ],
)
def test_addresses_of_apis(tmp_path, kind, given, api):
    assert forge(tmp_path, kind, given).api == api


@pytest.mark.parametrize(
    ("kind", "api", "url", "project"),
    [
        ("github", "", "https://github.com/org/states.git", "org/states"),
        ("github", "", "git@github.com:org/states.git", "org/states"),
        ("github", "", "ssh://git@ssh.github.com:443/org/states.git", "org/states"),
        ("github", "", "https://github.com/org", ""),
        ("github", "", "https://gitlab.com/org/states.git", ""),
        ("github", "", "/srv/github.com/org/states.git", ""),
        ("github", "https://ghe.example.org", "https://ghe.example.org/org/states", "org/states"),
        ("gitlab", "", "https://gitlab.com/a/b/c.git", "a/b/c"),
        ("gitlab", "https://x.org/lab", "https://x.org/lab/a/b.git", "a/b"),
        ("gitlab", "https://x.org/lab", "git@x.org:a/b.git", "a/b"),
        ("gitlab", "https://x.org/lab", "https://x.org/other/b.git", ""),
        ("gitea", "https://X.org:3000", "https://x.org:3000/a/b.git", "a/b"),
        ("gitea", "https://x.org", "ssh://git@x.org:2222/a/b.git", "a/b"),
        ("bitbucket", "", "git@bitbucket.org:team/states.git", "team/states"),
        ("bitbucket-datacenter", "https://x.org/bb", "https://x.org/bb/scm/OPS/states.git", "OPS/states"),
        ("bitbucket-datacenter", "https://x.org/bb", "ssh://git@x.org:7999/ops/states.git", "ops/states"),
        ("bitbucket-datacenter", "https://x.org", "https://x.org/scm/~me/states.git", "~me/states"),
        ("azure-devops", "https://dev.azure.com/acme", "https://a@dev.azure.com/acme/Ops%20x/_git/s", "Ops x/s"),
        ("azure-devops", "https://dev.azure.com/acme", "https://dev.azure.com/acme/_git/states", "states/states"),
        ("azure-devops", "https://dev.azure.com/acme", "git@ssh.dev.azure.com:v3/acme/Ops/states", "Ops/states"),
        ("azure-devops", "https://dev.azure.com/acme", "https://acme.visualstudio.com/Ops/_git/states", "Ops/states"),
        ("azure-devops", "https://dev.azure.com/acme", "https://dev.azure.com/other/Ops/_git/states", ""),
        ("azure-devops", "https://x.org/tfs/Main", "https://x.org/tfs/Main/Ops/_git/states", "Ops/states"),
    ],
)  # fmt: skip
def test_the_project_of_a_url(tmp_path, kind, api, url, project):
    assert project_of(forge(tmp_path, kind, api), url) == project


def test_projects_and_their_remotes():
    hub = ForgeSettings(name="hub", kind="github", api="https://api.github.com", token="x", projects={"local": "o/l"})
    lab = ForgeSettings(
        name="lab",
        kind="gitlab",
        api="https://gitlab.com/api/v4",
        token="x",
        projects={"https://github.com/o/moved.git": "g/moved"},
    )
    remotes = {
        "states": "https://github.com/o/s.git",
        "pillar": "git@github.com:o/s.git",
        "local": "/srv/l.git",
        "moved": "git@github.com:o/moved",
        "other": "https://example.org/a/b.git",
    }
    found = {(each.forge, each.project): each.remotes for each in projects_of((hub, lab), remotes)}
    assert found == {("hub", "o/s"): ("pillar", "states"), ("hub", "o/l"): ("local",), ("lab", "g/moved"): ("moved",)}


def test_a_remote_that_there_is_not_is_told(tmp_path):
    (tmp_path / "controller").write_text(
        "gitfs_remotes:\n  - https://github.com/o/states.git: [{name: states}]\n"
        "forges:\n  - {name: a, kind: github, token: x, projects: {sates: o/x}}\n"
    )
    with pytest.raises(BadControllerSettings) as raised:
        check_git(load_settings(tmp_path))
    assert str(raised.value).endswith(
        "controller:4: forges: a: projects: there is no remote 'sates'; did you mean states?"
    )


def test_without_the_option_there_is_no_forge():
    assert read_forges(None, []) == ()


def test_tokens_of_the_environment_are_taken_out_of_it(monkeypatch):
    monkeypatch.setenv("SALTERN_TEST_FORGE_TOKEN", "hunter2")
    forge = ForgeSettings(
        name="a", kind="github", api="https://api.github.com", token=SecretFrom("env", "SALTERN_TEST_FORGE_TOKEN")
    )
    (ready,) = withhold_secrets((forge,), None)
    assert "SALTERN_TEST_FORGE_TOKEN" not in os.environ
    assert reveal(ready.token) == "hunter2"


def test_tokens_of_a_vault_are_asked_for():
    forge = ForgeSettings(name="a", kind="github", token=SecretFrom("vault", "secret/forge?token"))
    (ready,) = withhold_secrets((forge,), lambda path, key: f"{path} {key}")
    assert reveal(ready.token) == "secret/forge token"


def test_authorities_that_cannot_be_read(tmp_path):
    (tmp_path / "empty.pem").write_text("none\n")
    for name, why in (("none.pem", "cannot be read: No such file"), ("empty.pem", "has no certificates")):
        text = f"forges:\n  - name: f\n    kind: github\n    token: x\n    ca_file: {tmp_path}/{name}\n"
        (fault,) = faults(tmp_path, text)
        assert f"ca_file {tmp_path}/{name} {why}" in fault
