"""Options in groups: Salt's values as the types of the fields, and faults with their places."""

from pathlib import Path
from typing import Any

import pytest

from highstate.compile_options import CompileOptions
from minion.config.files import BadMinionSettings
from minion.config.group_rules import GROUPS, options_of
from minion.config.groups import DEFAULT_OPTIONS
from minion.config.language import KINDS, compile_options
from minion.config.rules import KNOWN, LANGUAGE
from minion.config.settings import load_settings


def test_every_field_of_a_group_is_set_by_an_option() -> None:
    for group, (make, rules) in GROUPS.items():
        assert type(getattr(DEFAULT_OPTIONS, group)) is make
        assert {field for field, _ in rules.values()} == {*make._fields} - {"state_output"}
    assert {*GROUPS, "beacons", "status"} == {*DEFAULT_OPTIONS._fields}


def test_nothing_is_the_defaults() -> None:
    assert options_of({}) == DEFAULT_OPTIONS
    assert options_of({"id": "web1", "own": {"a": 1}, "functions": [1]}) == DEFAULT_OPTIONS


@pytest.mark.parametrize(
    ("option", "value", "field", "expected"),
    [
        ("test", 1, "state.test", True),
        ("state_queue", 2, "state.queue", 2),
        ("state_queue", "yes", "state.queue", False),
        ("saltenv", None, "state.saltenv", "base"),
        ("saltenv", "dev", "state.saltenv", "dev"),
        ("state_aggregate", ["pkg"], "state.aggregate_packages", True),
        ("state_aggregate", ["file"], "state.aggregate_packages", False),
        ("state_max_parallel", 4, "state.most_parallel", 4),
        ("state_max_parallel", -4, "state.most_parallel", 0),
        ("state_verbose", None, "output.verbose", False),
        ("state_output_exclude", "True, None", "output.exclude", ("True", "None")),
        ("state_output_terse", [True], "output.terse", ("True",)),
        ("state_tabular", "pre", "output.tabular", "pre"),
        ("grains_blacklist", "ip*", "grains.blacklist", ("ip*",)),
        ("grains_deep_merge", "yes", "grains.deep_merge", False),
        ("enable_fqdns_grains", 0, "grains.fqdns", False),
        ("controller", ["a"], "grains.master", ["a"]),
        ("mine_interval", 5, "mine.minutes", 5.0),
        ("mine_interval", 0, "mine.minutes", 0.0),
        ("mine_enabled", False, "mine.minutes", 0.0),
        ("mine_enabled", None, "mine.minutes", 60.0),
        ("return", "local, own", "returners.names", ("local", "own")),
        ("rawfile_json.filename", None, "returners.raw_file", "/var/log/saltern/events"),
        ("schedule", ["no mapping"], "schedule.jobs", {}),
        ("module_dirs", "/srv/modules", "modules.modules", ("/srv/modules",)),
        ("states_dirs", None, "modules.states", ()),
        ("status.uptime.custom", ["days"], "status.custom", {"uptime": ("days",)}),
    ],
)
def test_values_as_salt_takes_them(option: str, value: Any, field: str, expected: Any) -> None:
    group, _, name = field.partition(".")
    found = getattr(getattr(options_of({option: value}), group), name)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("wrong", ["often", -1, True, None])
def test_an_interval_that_is_none(wrong: Any) -> None:
    with pytest.raises(BadMinionSettings, match="mine_interval must be a number of minutes"):
        options_of({"mine_interval": wrong})


def test_faults_of_groups_and_language_have_their_places(tmp_path: Path) -> None:
    (tmp_path / "minion").write_text("mine_interval: often\nstate_auto_order: maybe\nnodegroups: [a]\nsaltenv:\n")
    with pytest.raises(BadMinionSettings) as caught:
        load_settings(tmp_path)
    assert str(caught.value).replace(f"{tmp_path}/", "").splitlines() == [
        "minion:1: mine_interval must be a number of minutes, not 'often'",
        "minion:2: state_auto_order must be True or False, not 'maybe'",
        "minion:3: nodegroups must be a mapping, not ['a']",
    ]


def test_the_options_of_the_language_are_known() -> None:
    assert {*KINDS} == LANGUAGE
    assert {"saltenv", "return", "mine_interval", "id"} <= KNOWN


def test_a_compile_sees_what_is_written() -> None:
    opts = {"env_order": "base", "saltenv": None, "own": 1}
    assert compile_options(opts) == CompileOptions(env_order=("base",), opts=opts)
