"""Every option of Salt is known to both readers: read, or accepted or refused with a reason, without a wrong hint."""

import json
from pathlib import Path

import pytest
import yaml

from controller.config import settings as of_controller
from minion.config import rules as of_minion
from minion.config.salt_options import LACKING, NEEDLESS, asks_for_nothing, said_of, salt_option
from minion.config.settings import load_settings

SALT = json.loads((Path(__file__).parents[2] / "golden" / "salt_options.json").read_text())
NAMES = sorted({name for names in SALT["names"].values() for name in names})
ROWS = [(reason, name) for table in (NEEDLESS, LACKING) for reason, names in table for name in names.split()]


def controller_says(tmp_path, **options):
    (tmp_path / "controller").write_text(yaml.safe_dump(options))
    try:
        return of_controller.load_settings(tmp_path).notes
    except of_controller.BadControllerSettings as error:
        return tuple(str(fault) for fault in error.faults)


def minion_says(tmp_path, **options):
    (tmp_path / "minion").write_text(yaml.safe_dump({"id": "web1", **options}))
    return load_settings(tmp_path).warnings


def test_the_golden_has_all():
    assert len(NAMES) > 480


def test_every_name_is_in_one_row():
    names = [name for _, name in ROWS]
    assert len(names) == len(set(names))


def test_every_option_of_salt_is_known():
    assert [name for name in NAMES if not of_controller._is_known(name) and salt_option(name) is None] == []
    assert [name for name in NAMES if not of_minion.is_known(name) and salt_option(name) is None] == []


def test_each_is_accepted_or_refused_with_its_reason(tmp_path):
    """Through both readers, all at once, with a value that asks for something."""
    reasons = {name: reason for reason, name in ROWS}
    foreign = {name: "wanted" for name in NAMES if not of_controller._is_known(name)}
    lacking = {name for name in foreign if salt_option(name).lacking}
    noted = controller_says(tmp_path, **{name: value for name, value in foreign.items() if name not in lacking})
    assert len(noted) == len(foreign) - len(lacking)
    refused = controller_says(tmp_path, **{name: foreign[name] for name in lacking})
    assert len(refused) == len(lacking)
    warned = minion_says(tmp_path, **{name: "wanted" for name in NAMES if not of_minion.is_known(name)})
    for line in (*noted, *refused, *warned):
        name = line.split(": ")[1]
        assert "did you mean" not in line
        assert reasons.get(name, "reads folders") in line


@pytest.mark.parametrize("kind", ["master", "minion"])
def test_a_default_of_salt_is_never_refused(kind, tmp_path):
    """A file that has all of Salt's defaults in it can be taken over."""
    defaults = SALT["defaults"][kind]
    assert [
        name
        for name, value in defaults.items()
        if (found := salt_option(name)) is not None and found.lacking and not asks_for_nothing(name, value)
    ] == []
    foreign = {name: value for name, value in defaults.items() if not of_controller._is_known(name)}
    assert all("it means nothing here" in line for line in controller_says(tmp_path, **foreign))


def test_hints_name_what_was_meant_and_nothing_else():
    known = frozenset(of_minion.KNOWN)
    assert said_of("mastr", known) == "did you mean master?"
    assert said_of("worker_thread", known) == "did you mean worker_threads?"
    for name in ("master_typo_of_mine", "reactors_dir", "cash", "tops"):
        assert said_of(name, known) == ""
    assert "it is an option of the controller" in said_of("reactor", known)
    assert "`saltern relay`" in said_of("syndic_master", known)
    assert "it is an option of minions" in said_of("master_type", frozenset())
    assert "store_url" in said_of("cache", known)
