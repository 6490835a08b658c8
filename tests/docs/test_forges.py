"""docs/forges.md has the kinds of forges that there are."""

import re

from forges.all_forges import CASES

from controller.forges.kind_names import KINDS
from tools.docs.forges_table import PAGE, with_table

TEXT = PAGE.read_text()


def test_the_table_of_kinds_is_the_codes():
    assert with_table(TEXT) == TEXT, "run: .venv/bin/python -m tools.docs.forges_table"


def test_each_kind_has_an_example():
    assert set(re.findall(r"^ +kind: (\S+)$", TEXT, re.M)) == set(KINDS)


def test_each_way_of_access_has_its_column():
    table = TEXT.partition("## What each forge can do")[2].strip()
    rows = [line.strip("|").split("|") for line in table.partition("\n\n")[0].splitlines()]
    assert {len(row) for row in rows} == {1 + len(CASES)}
