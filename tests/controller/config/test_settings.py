"""The controller's configuration files."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.config.checks import check_git
from controller.config.sections import PortOptions
from controller.config.settings import POLICY, BadControllerSettings, ControllerSettings, load_settings
from controller.policy.policy import Policy
from highstate.compile import CompileOptions
from options.vault import VaultSettings


@pytest.fixture
def write(tmp_path):
    def write(text: str, **more: str) -> Path:
        (tmp_path / "controller").write_text(text)
        for name, content in more.items():
            (tmp_path / "controller.d").mkdir(exist_ok=True)
            (tmp_path / "controller.d" / f"{name}.conf").write_text(content)
        return tmp_path

    return write


def faults_of(folder: Path) -> list[str]:
    with pytest.raises(BadControllerSettings) as raised:
        load_settings(folder)
    return [str(fault).removeprefix(f"{folder}/") for fault in raised.value.faults]


def test_without_files_there_are_defaults(tmp_path):
    settings = load_settings(tmp_path / "none")
    assert settings == ControllerSettings(
        config_dir=tmp_path / "none",
        ports=PortOptions(gpg_keydir=str(tmp_path / "none/gpgkeys")),
        language=CompileOptions(state_top_saltenv="base"),
    )
    assert str(settings.socket) == "/run/saltern/controller.sock"


def test_top_files_of_other_branches_count_only_when_asked_for(write):
    assert load_settings(write("state_top_saltenv: ''\n")).language.state_top_saltenv is None
    assert load_settings(write("state_top_saltenv: dev\n")).language.state_top_saltenv == "dev"


def test_renderers_are_switched_by_options_of_the_language(write):
    language = load_settings(write("allow_py_renderer: false\nrenderer_blacklist: [mako]\n")).language
    assert language.opts == {"allow_py_renderer": False, "renderer_blacklist": ("mako",)}


def test_an_empty_file_is_no_fault(write):
    assert load_settings(write("# nothing\n", a="")).publish_port == 4505


def test_root_dir_goes_before_every_path_once(write):
    settings = load_settings(write("root_dir: /srv/x\npki_dir: /srv/x/keys\ncachedir: /cache\n"))
    assert str(settings.pki_dir) == "/srv/x/keys"
    assert str(settings.cachedir) == "/srv/x/cache"
    assert str(settings.sock_dir) == "/srv/x/run/saltern"
    assert settings.store_url == "sqlite:////srv/x/var/lib/saltern/controller.sqlite"


def test_later_files_win_and_mappings_merge(write):
    folder = write(
        "http_port: 1\nnodegroups: {web: 'web*', db: 'db*'}\n",
        a="http_port: 2\nnodegroups: {db: 'data*'}\n",
        b="http_port: 3\n",
    )
    settings = load_settings(folder)
    assert settings.http_port == 3
    assert settings.language.nodegroups == {"web": "web*", "db": "data*"}
    assert settings.places["http_port"] == f"{folder}/controller.d/b.conf:1"


def test_all_faults_come_at_once_each_with_its_line(write):
    folder = write(
        "interface: example.com\n\nhttp_port: 99999\nauto_accept: maybe\nlog_levl: info\nroot_dir: here\n",
        a="run_timeout: -1\nopen_mode: true\n",
    )
    assert faults_of(folder) == [
        "controller:1: interface must be an IP address of this machine, like 127.0.0.1 or 0.0.0.0, not 'example.com'",
        "controller:3: http_port must be a port, 0 to 65535, not 99999",
        "controller:4: auto_accept must be True or False, not 'maybe'",
        "controller:5: there is no option 'log_levl'; did you mean log_level?",
        "controller:6: root_dir must be an absolute path, not 'here'",
        "controller.d/a.conf:1: run_timeout must be a number of seconds above 0, not -1",
        "controller.d/a.conf:2: open_mode: it is not built here: keys are never taken in place of others "
        "without a person; auto_accept accepts new ones; remove it",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [\n", "controller:2: is no YAML"),
        ("- list\n", "controller:1: must hold `option: value` lines"),
        ("http_port: 1\nhttp_port: 2\n", "controller:2: http_port stands here again"),
        ("1: 2\n", "controller:1: 1 is no name of an option"),
        ("x: !!python/object/apply:os.system ['true']\n", "controller:1: is no YAML"),
        ("x: &a [*a]\n", "controller:"),
        ("\tx: 1\n", "controller:1: is no YAML"),
    ],
)
def test_what_is_no_configuration_is_told_with_its_line(write, text, line):
    assert any(fault.startswith(line) for fault in faults_of(write(text))), faults_of(write(text))


def test_bytes_that_are_no_text_are_a_fault(tmp_path):
    (tmp_path / "controller").write_bytes(b"\xff\xfe")
    assert "is not UTF-8" in faults_of(tmp_path)[0]


def test_options_that_contradict_each_other(write):
    found = faults_of(write("publish_port: 5\nret_port: 5\nminion_timeout: 10\n"))
    assert found[0].startswith("controller:2: publish_port and ret_port are the same")
    assert found[1].startswith("controller:3: minion_timeout (10) must be longer than alive_interval (15)")


def test_salts_levels_become_those_that_the_log_has(write):
    found = {name: load_settings(write(f"log_level: {name}\n")).log_level for name in ("trace", "warning", "quiet")}
    assert found == {"trace": "debug", "warning": "warning", "quiet": "critical"}
    assert "log_level must be one of" in faults_of(write("log_level: [a]\n"))[0]


def test_secrets_are_not_shown(write):
    assert "hunter2" not in repr(load_settings(write("hook_secret: hunter2\ngitfs_password: hunter2\n")))
    assert "hunter2" not in faults_of(write("hook_secret: [hunter2]\n"))[0]


def test_the_language_takes_what_is_handed_on(write):
    text = (
        "top_file_merging_strategy: same\nenv_order: [base, dev]\nstate_top: t.sls\nstate_auto_order: False\n"
        "pillar_source_merging_strategy: none\npillar_merge_lists: true\njinja_env: {trim_blocks: true}\n"
    )
    language = load_settings(write(text)).language
    assert language.env_order == ("base", "dev")
    assert language.pillar_source_merging_strategy == "none"


def test_git_options_are_handed_on_and_checked(write):
    text = (
        "gitfs_remotes:\n  - file:///srv/a.git\n  - https://git/b:\n    - root: states\n"
        "gitfs_update_interval: 30\next_pillar:\n  - git:\n    - main file:///srv/p.git\n"
        "file_roots:\n  base: [/srv/salt]\n"
    )
    settings = load_settings(write(text))
    check_git(settings)
    assert settings.trees.remotes["gitfs_update_interval"] == 30
    assert settings.trees.file_roots == {"base": ("/srv/salt",)}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("gitfs_remotes:\n  - ext::sh -c id\n", 3),
        ("gitfs_rot: x\n", 2),
        ("ext_pillar:\n  - git:\n    - {main: 1}\n", 4),
    ],
)
def test_what_gitfs_cannot_use_names_file_and_line(write, text, line):
    folder = write(f"http_port: 1\n{text}")
    with pytest.raises(BadControllerSettings) as raised:
        check_git(load_settings(folder))
    assert str(raised.value).startswith(f"{folder}/controller:{line}: ")


GIT_FAULTS = """\
gitfs_update_interval: soon
gitfs_saltenv:
  - dev:
    - root: salt
    - mountpoint: ../etc
gitfs_remotes:
  - https://git.example.org/a.git
  - https://git.example.org/b.git:
    - root: states
    - ssl_verify: ca.pem
    - saltenv:
      - prod:
        - root: [x]
      - base:
        - ref: -x
    - refspec: x
  - https://git.example.org/c.git:
      name: c
      password: {file: relative}
      signed_by:
        main:
          - alice
          - [bob]
  - https://git.example.org/d.git:
    - name: c
    - base: a..b
  - https://git.example.org/e.git:
    - refspecs:
      - '+refs/heads/*:refs/remotes/origin/*'
      - '+refs/heads/*:refs/elsewhere/*'
ext_pillar:
  - cmd_yaml: cat /etc/pillar
  - git:
    - main https://git.example.org/p.git:
      - root: pillar
      - lfs: maybe
git_pillar_includes: perhaps
fileserver_backend:
  - roots
  - s3fs
file_ignore_regex: ['a', '(']
"""


def test_each_fault_in_the_options_of_gitfs_has_its_own_line(write):
    with pytest.raises(BadControllerSettings) as raised:
        check_git(load_settings(write(GIT_FAULTS)))
    found = [str(fault).rpartition("/controller:")[2].split(": ", 1) for fault in raised.value.faults]
    assert [(int(line), text) for line, text in found] == [
        (1, "gitfs_update_interval must be a number of seconds above 0, not a str"),
        (5, "gitfs_saltenv: dev: mountpoint must be a folder inside the repository, without `.` and `..`, not a str"),
        (
            10,
            "gitfs_remotes[1]: ssl_verify must be true, false, or the absolute path of a file of CA certificates, "
            "not a str",
        ),
        (
            13,
            "gitfs_remotes[1]: saltenv: prod: root must be a folder inside the repository, without `.` and `..`, "
            "not a list",
        ),
        (15, "gitfs_remotes[1]: saltenv: base: ref: '-x' cannot be the name of a branch, tag or commit"),
        (16, "gitfs_remotes[1]: there is no option 'refspec'; did you mean 'refspecs'?"),
        (
            19,
            "gitfs_remotes[2]: password must be a string, `{file: /absolute/path}`, `{env: NAME}`, "
            "`{credential: NAME}` (of systemd) or `{vault: secret/path?key}`, not a dict",
        ),
        (23, "gitfs_remotes[2]: signed_by: main must be a list of strings, not a list"),
        (26, "gitfs_remotes[3]: remote 'c': base: 'a..b' cannot be the name of a branch, tag or commit"),
        (
            30,
            "gitfs_remotes[4]: remote 'git.example.org/e': refspecs: '+refs/heads/*:refs/elsewhere/*' must be like "
            "+refs/heads/*:refs/remotes/origin/* (a branch) or +refs/tags/*:refs/tags/* (a tag)",
        ),
        (36, "ext_pillar[1].git[0]: lfs must be true or false, not a str"),
        (37, "git_pillar_includes must be true or false, not a str"),
        (40, "fileserver_backend: there is no backend 's3fs' here, only gitfs and roots"),
        (
            41,
            "file_ignore_regex: '(' is no regular expression: missing ), unterminated subpattern at position 0",
        ),
    ]


def test_a_fault_of_an_inherited_option_has_the_line_of_the_option_for_all_remotes(write):
    text = "gitfs_remotes:\n  - https://git.example.org/a.git\n"
    folder = write(text, a="# here\ngitfs_base: a b\n")
    with pytest.raises(BadControllerSettings) as raised:
        check_git(load_settings(folder))
    assert str(raised.value).startswith(f"{folder}/controller.d/a.conf:2: gitfs_remotes[0]: ")


def test_keys_and_vaults_are_kept_from_templates(tmp_path):
    (tmp_path / "controller").write_text(
        """
gpg_keydir: /etc/saltern/gpgkeys
vault: {server: {url: 'https://vault.example.org'}, auth: {token: t}}
ext_pillar:
  - cmd_yaml: cat /etc/pillar
decrypt_pillar:
  - 'secrets:vpn'
  - 'secrets:web': gpg
nodegroups: {webs: 'web*'}
"""
    )
    settings = load_settings(tmp_path)
    assert settings.ports.gpg_keydir == "/etc/saltern/gpgkeys"
    assert settings.ports.vault == VaultSettings.parse(
        {"server": {"url": "https://vault.example.org"}, "auth": {"token": "t"}}
    )
    assert settings.ports.nodegroups == {"webs": "web*"}
    assert settings.ports.configuration == {}
    assert settings.language.ext_pillar == ({"cmd_yaml": "cat /etc/pillar"},)
    assert settings.language.decrypt_pillar == ("secrets:vpn", {"secrets:web": "gpg"})
    assert "vault" not in settings.language.opts
    assert "example.org" not in repr(settings)


def test_a_bad_vault_is_told_without_its_token(tmp_path):
    (tmp_path / "controller").write_text("vault: {auth: {token: hidden}}\n")
    with pytest.raises(BadControllerSettings, match="a vault that can be used") as caught:
        load_settings(tmp_path)
    assert "hidden" not in str(caught.value)


def test_a_key_of_the_policy_is_no_option(write):
    assert set(Policy.__struct_fields__) == POLICY | {
        "reactor",
        "rules",
        "schedule",
        "notifications",
    }  # which are options, too
    with pytest.raises(
        BadControllerSettings, match=r"there is no option 'missing_source'.*write it into saltern\.yaml"
    ):
        load_settings(write("missing_source: fail_state\n"))
