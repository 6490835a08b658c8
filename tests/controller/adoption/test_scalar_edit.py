"""One value of a YAML text is replaced, and every other character is kept."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from controller.adoption.scalar_edit import CannotEdit, with_value
from controller.observe.value_places import Lines

CASES = [
    ("plain", "- mode: 644  # why\n", 600, "- mode: 600  # why\n"),
    ("single", "a:\n  - mode: '0644'\n  - user: x\n", "0600", "a:\n  - mode: '0600'\n  - user: x\n"),
    ("double", '- v: "1.2"\n', "1.3", '- v: "1.3"\n'),
    ("quotes where they are needed", "- version: 1.2-1\n", "1.10", "- version: '1.10'\n"),
    ("boolean", "- enable: True\n", False, "- enable: False\n"),
    ("lower boolean", "- enable: true\n", False, "- enable: false\n"),
    ("pillar", "port: 5432\nother: 1\n", 6000, "port: 6000\nother: 1\n"),
    ("block", "- contents: |\n    a\n    b\n- mode: 1\n", "a\nc\n", "- contents: |\n    a\n    c\n- mode: 1\n"),
    ("block without an end", "- contents: |\n    a\n", "a\nc", "- contents: |-\n    a\n    c\n"),
    ("block with blank lines", "k: |\n  a\n\n  b\nl: 1\n", "a\n\nc\n", "k: |\n  a\n\n  c\nl: 1\n"),
    ("one line becomes a block", "- contents: a\n", "a\nb\n", "- contents: |\n    a\n    b\n"),
    ("list", "- contents:\n  - a\n  - b\n- mode: 1\n", ["a", "c: d"], "- contents:\n  - a\n  - 'c: d'\n- mode: 1\n"),
    ("other line ends", "port: 1\r\nother: 2\r\n", 3, "port: 3\r\nother: 2\r\n"),
    ("colon in a key", "'a: b': 1\n", 2, "'a: b': 2\n"),
]


@pytest.mark.parametrize(("text", "value", "wanted"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_only_the_value_is_replaced(text, value, wanted):
    number = 2 if text.startswith("a:\n") else 1
    assert with_value(text, Lines(number, len(text.splitlines())), value) == wanted


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("- contents: {{ pillar['a'] }}\n", "x"),
        ("- contents: |\n    a {{ b }}\n", "x\n"),
        ("- contents: a\n", "{{ x }}"),
        ("- contents: &anchor a\n", "x"),
        ("- contents: *anchor\n", "x"),
        ("- contents: [a, b]\n", ["x"]),
        ("- contents: >\n    a\n    b\n", " starts with a space\n"),
        ("- contents: a\n", "bell \x07\n"),
        ("- contents: a\n    b\n", "x"),
        ("- a\n", "x"),
        ("k: a\n", "x\u2028y"),
    ],
)
def test_what_cannot_be_replaced_exactly_is_refused(text, value):
    with pytest.raises(CannotEdit):
        with_value(text, Lines(1, len(text.splitlines())), value)


_VALUES = st.one_of(
    st.text(max_size=30), st.booleans(), st.integers(), st.text(alphabet="ab: #'\"\n-|{%\\", max_size=12)
)
_OLD = st.sampled_from(["a", "'a'", '"a"', "|\n      a\n      b", "|-\n      a", "1", "true"])


@given(value=_VALUES, old=_OLD)
def test_whatever_is_written_is_read_again_as_the_very_value(value, old):
    text = f"id:\n  - first: 1\n  - key: {old}\n  - last: 2  # kept\n"
    try:
        new = with_value(text, Lines(3, len(text.splitlines()) - 1), value)
    except CannotEdit:
        return
    assert new.startswith("id:\n  - first: 1\n")
    assert new.endswith("  - last: 2  # kept\n")
    assert yaml.safe_load(new)["id"][1:] == [{"key": value}, {"last": 2}]
