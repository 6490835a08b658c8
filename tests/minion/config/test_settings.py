from pathlib import Path

import pytest

from minion.agent.settings_reader import settings_from_child
from minion.config.files import BadMinionSettings
from minion.config.rules import RULES
from minion.config.settings import MinionSettings, keep_id, load_settings


def write(folder: Path, text: str, name: str = "minion") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_an_empty_folder_gives_the_defaults(tmp_path: Path) -> None:
    settings = load_settings(tmp_path)
    assert settings.master_port == 4506
    assert settings.publish_port == 4505
    assert settings.pki_dir == Path("/etc/saltern/pki/minion")
    assert settings.cachedir == Path("/var/cache/saltern/minion")
    assert settings.id
    assert settings.warnings == ()


def test_later_files_win_and_overrides_win_over_all(tmp_path: Path) -> None:
    write(tmp_path, "id: one\nmaster: a\nlog_level: info\n")
    write(tmp_path, "id: two\ncontroller: [b, c]\n", "minion.d/x.conf")
    settings = load_settings(tmp_path, {"log_level": "debug"})
    assert (settings.id, settings.master, settings.log_level) == ("two", ("b", "c"), "debug")


def test_root_dir_holds_the_other_folders(tmp_path: Path) -> None:
    write(tmp_path, f"root_dir: {tmp_path}\npki_dir: {tmp_path}/keys\nlog_file: /var/log/minion\n")
    settings = load_settings(tmp_path)
    assert settings.pki_dir == tmp_path / "keys"
    assert settings.cachedir == tmp_path / "var/cache/saltern/minion"
    assert settings.log_file == tmp_path / "var/log/minion"


def test_roots_are_read_as_salt_has_them(tmp_path: Path) -> None:
    write(tmp_path, "file_roots:\n  base: [/srv/salt, /srv/more]\n  dev: /srv/dev\n")
    assert load_settings(tmp_path).file_roots == {"base": ("/srv/salt", "/srv/more"), "dev": ("/srv/dev",)}


def test_an_unknown_key_is_a_warning_with_a_near_name(tmp_path: Path) -> None:
    write(tmp_path, "masterport: 1\nmy_own_key: 2\nhosts.file: /etc/hosts\naliases.file: /etc/aliases\n")
    settings = load_settings(tmp_path)
    assert len(settings.warnings) == 2
    assert "did you mean master_port?" in settings.warnings[0]
    assert "my_own_key" in settings.warnings[1]
    assert settings.written["my_own_key"] == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n", "`option: value` lines"),
        ("a: [\n", "no YAML"),
        ("master_port: 70000\n", "master_port must be a port"),
        ("id: a/b\n", "id must be a minion id"),
        ("log_level: loud\n", "must be one of"),
        ("cachedir: relative\n", "absolute path"),
        ("grains: [1]\n", "must be a mapping"),
        ("file_roots: {base: 7}\n", "lists of folders"),
        ("failhard: maybe\n", "True or False"),
    ],
)
def test_bad_files_are_refused_with_their_name(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(BadMinionSettings) as caught:
        load_settings(tmp_path)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_the_id_is_kept(tmp_path: Path) -> None:
    write(tmp_path, "{}")
    settings = load_settings(tmp_path)
    keep_id(settings)
    assert (tmp_path / "minion_id").read_text().strip() == settings.id
    write(tmp_path, "kept.example\n", "minion_id")
    assert load_settings(tmp_path).id == "kept.example"
    keep_id(settings)
    assert load_settings(tmp_path).id == "kept.example"


def test_a_folder_named_like_a_symlink_stays_as_named(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert load_settings(tmp_path / "link").config_dir == tmp_path / "link"


def test_all_faults_come_at_once_each_with_its_line(tmp_path: Path) -> None:
    write(tmp_path, "id: ok\nmaster_port: 0\nfailhard: maybe\n")
    write(tmp_path, "file_roots:\n  base: 7\n\ngrains_cache: 1\n", "minion.d/x.conf")
    write(tmp_path, "- a\n", "minion.d/y.conf")
    write(tmp_path, "a: [\n", "grains")
    with pytest.raises(BadMinionSettings) as caught:
        load_settings(tmp_path)
    assert str(caught.value).replace(f"{tmp_path}/", "").splitlines() == [
        "minion.d/y.conf:1: must hold `option: value` lines",
        "minion:2: master_port must be a port number from 1 to 65535, not 0",
        "minion:3: failhard must be True or False, not 'maybe'",
        "minion.d/x.conf:1: file_roots must be a mapping of saltenvs to lists of folders (of base it is none), "
        "not {'base': 7}",
        "minion.d/x.conf:4: grains_cache must be True or False, not 1",
        "grains:2: is no YAML: did not find expected node content (column 1); mend the line, or the one before "
        "it: quote texts with `: `, `#`, `{` or `%`, and indent with spaces",
    ]


def test_every_field_can_be_set() -> None:
    own = {*MinionSettings._fields} - {"config_dir", "options", "written", "warnings"}
    assert own == set(RULES)


def test_every_field_goes_to_the_agent_and_back(tmp_path: Path) -> None:
    """The agent has its settings from a child; a rule of a field must not refuse its default."""
    write(tmp_path, "log_file: /var/log/x\nfile_roots: {base: [/srv/salt]}\ngrains: {1: [a]}\nmaster: [a, b]\n")
    for settings in (load_settings(tmp_path / "none"), load_settings(tmp_path)):
        assert settings_from_child(settings.config_dir) == settings


def test_includes_are_merged_as_salt_merges_them(tmp_path: Path) -> None:
    """What `minion.d` says takes the place of `minion`; files beside each other are merged; jobs are always kept."""
    write(tmp_path, "mine: {a: 1}\nschedule: {one: {seconds: 1}}\ninclude: [more/*.conf, absent]\n")
    write(tmp_path, "mine: {b: [1]}\nschedule: {two: {seconds: 2}}\n", "minion.d/1.conf")
    write(tmp_path, "mine: {b: [1, 2], c: 3}\n", "minion.d/2.conf")
    write(tmp_path, "last: 1\ninclude: ../deep\n", "more/x.conf")
    write(tmp_path, "last: 2\n", "deep")
    opts = load_settings(tmp_path).written
    assert opts["mine"] == {"b": [1, 2], "c": 3}
    assert opts["schedule"] == {"one": {"seconds": 1}, "two": {"seconds": 2}}
    assert opts["last"] == 2


@pytest.mark.parametrize(
    ("text", "said"), [("include: minion\n", "include each other"), ("include: [1]\n", "path of a file")]
)
def test_bad_includes(tmp_path: Path, text: str, said: str) -> None:
    write(tmp_path, text)
    with pytest.raises(BadMinionSettings, match=said):
        load_settings(tmp_path)
