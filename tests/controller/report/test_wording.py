"""Sentences of reports."""

from __future__ import annotations

import pytest
from msgspec import structs

from controller.report.text import text
from controller.report.wording import headline
from controller.schema.reports import PreviewReport

PENDING = PreviewReport(kind="pending", made_at=0.0, base="", head="1a8f598e" + "0" * 32, minions=3, unchanged=3)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "Nothing to do: all 3 minions have revision 1a8f598e"),
        ({"minions": 1}, "Nothing to do: the minion has revision 1a8f598e"),
        ({"minions": 0}, "Nothing is pending on 0 minions"),
        ({"kind": "plan"}, "Nothing changes on 3 minions"),
    ],
)
def test_where_nothing_is_to_be_done(changed, said):
    assert headline(structs.replace(PENDING, **changed)) == said


def test_the_title_names_no_move_where_there_is_none():
    assert text(PENDING).startswith("Saltern diff, not applied yet: nothing\n")
    assert "→" not in text(PENDING)
