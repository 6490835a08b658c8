"""Every option of Salt has a verdict, and each that works is truly one that our loaders take."""

import json
import re
from pathlib import Path

import pytest

from controller.migration import functions, option_table, trial
from controller.migration.check import _OTHER_FILES
from controller.migration.option_table import ABSENT, DIFFERENT, INSTEAD, PLACES, is_known, judge_option

ROOT = Path(__file__).parents[3]
SALT = json.loads((ROOT / "tests/golden/salt_options.json").read_text())
NAMES = {kind: sorted({*SALT["names"][kind], *SALT["names"]["valid"]}) for kind in ("master", "minion")}
EVERY = sorted({name for names in SALT["names"].values() for name in names})
OF_EXTENSIONS = {"roster", "rosters", "roster_defaults", "ssh_minion_opts", "proxy", "rest_cherrypy", "rest_tornado"}
"""Options that Salt's own tables of defaults do not have."""


@pytest.mark.parametrize("kind", ["master", "minion"])
def test_every_option_has_a_verdict_of_its_own(kind):
    assert len(EVERY) > 480
    for name in NAMES[kind]:
        said = judge_option(kind, name, "wanted")
        assert said.verdict == "works" or (said.how and said.docs), name
        assert "no option of Salt" not in said.how, name


@pytest.mark.parametrize("kind", ["master", "minion"])
def test_what_works_is_read_by_our_loaders(kind):
    """An option that is not known is an error of the controller and a warning of the minion."""
    found = {name for name in NAMES[kind] if judge_option(kind, name, "wanted").verdict == "works"}
    assert len(found) > 45
    assert [name for name in found if not is_known(kind, name)] == []
    for name in found & SALT["defaults"][kind].keys():
        value = SALT["defaults"][kind][name]
        if value not in (None, "", [], {}):
            assert trial.faults(kind, {name: value}) == [], name


def test_an_option_that_nobody_knows_is_noticed():
    assert "there is no option" in trial.faults("master", {"no_such": "wanted"})[0]
    assert judge_option("master", "no_such", "x").verdict == "no counterpart"
    assert judge_option("minion", "no_such", "x").verdict == "different"
    assert judge_option("master", "mypass", {"driver": "yaml"}).verdict == "works"


@pytest.mark.parametrize("kind", ["master", "minion"])
def test_salts_defaults_lose_nothing(kind):
    lost = {name for name, value in SALT["defaults"][kind].items()
            if judge_option(kind, name, value).verdict == "no counterpart"}  # fmt: skip
    assert lost == set()


def test_the_tables_name_options_of_salt():
    assert sorted(ABSENT - set(EVERY)) == []
    assert sorted(INSTEAD.keys() - set(EVERY) - OF_EXTENSIONS - {"roster_file"}) == []
    assert set(EVERY) >= PLACES
    for kind, table in DIFFERENT.items():
        assert [name for name in table if not is_known(kind, name)] == []


def test_pages_and_headings_that_are_named_are_there():
    texts = [Path(module.__file__).read_text() for module in (option_table, functions)]
    named = {found for text in texts for found in re.findall(r'"(docs/[\w./-]+(?:#[\w-]+)?)"', text)}
    named |= {said.docs for _, _, said in _OTHER_FILES if said.docs}
    assert len(named) > 10
    for link in named:
        page, _, anchor = link.partition("#")
        headings = re.findall(r"^#+ (.+)$", (ROOT / page).read_text(), re.MULTILINE)
        anchors = {re.sub(r"[^\w\- ]", "", each.lower()).strip().replace(" ", "-") for each in headings}
        assert not anchor or anchor in anchors, link
