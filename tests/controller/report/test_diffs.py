"""Differences with fewer lines around what changes."""

from __future__ import annotations

import difflib

from hypothesis import given
from hypothesis import strategies as st

from controller.report.diffs import count_changes, field_lines, with_context
from controller.schema.plans import FieldDiff

_LINES = st.lists(st.sampled_from(["a", "b", "c", "", "-x", "+y", "@@ z"]), max_size=30)


@given(old=_LINES, new=_LINES, context=st.integers(0, 3))
def test_fewer_lines_are_what_diff_would_have_given(old: list[str], new: list[str], context: int) -> None:
    whole = "\n".join(difflib.unified_diff(old, new, "a", "b", lineterm="", n=3))
    fewer = with_context(whole, context)
    assert fewer == "\n".join(difflib.unified_diff(old, new, "a", "b", lineterm="", n=context)) or _same(whole, fewer)
    assert count_changes(whole) == count_changes(fewer)


def _same(whole: str, fewer: str) -> bool:
    """Hunks that diff joins where they touch may stay apart here; what changes is the same, in the same order."""
    changed = [[line for line in text.split("\n") if line[:1] in ("+", "-")] for text in (whole, fewer)]
    return changed[0] == changed[1]


def test_what_is_no_hunk_is_left() -> None:
    text = "Binary file x differs\n(12 more lines)"
    assert with_context(text, 0) == text


def test_the_end_of_a_file_stays_with_its_line() -> None:
    text = "@@ -1,3 +1,3 @@\n a\n b\n-c\n\\ No newline at end of file\n+d"
    assert with_context(text, 0) == "@@ -3 +3 @@\n-c\n\\ No newline at end of file\n+d"


def test_fields_are_shown_as_lines() -> None:
    assert field_lines(FieldDiff(field="mode", old="0644", new="0640")) == ["-mode: 0644", "+mode: 0640"]
    assert field_lines(FieldDiff(field="user", new="www")) == ["+user: www"]
    nested = FieldDiff(
        field="context", old={"server": {"port": 80, "name": "a"}}, new={"server": {"port": 81, "name": "a"}}
    )
    assert field_lines(nested) == ["-context:server:port: 80", "+context:server:port: 81", " context:server:name: a"]
    assert field_lines(FieldDiff(field="text", old="a\nb\nc\nd", new="a\nb\nc\ne")) == ["   c", "-  d", "+  e"]


def test_a_huge_value_is_counted() -> None:
    lines = field_lines(FieldDiff(field="contents", old="x\n" * 3000, new="y"))
    assert lines == ["~contents: 3002 -> 1 lines, too many to be compared here"]
