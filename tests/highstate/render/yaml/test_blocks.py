"""Reading YAML block by block gives what reading it whole gives, lines included."""

from __future__ import annotations

import pytest
import yaml
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from highstate.render.lines import _compose
from highstate.render.yaml.blocks import read_blocks
from highstate.render.yaml.loader import load_shared, load_yaml
from highstate.salt_yaml import SaltLoader, load_whole

PIECES = [
    *("a:", "b: 1", "a: 0644", "c: yes", "1: x", "True: y", "'q': [1, 2]", '"d": {e: f}', "e: 2020-01-01", "f: 1.5"),
    *("  pkg.installed:", "    - name: x", "    - require:", "      - pkg: y", "  - item", "- item", "-", "- k: v"),
    *(
        "  x: |",
        "    text",
        "   text",
        "  y: >-",
        "  z: 'open",
        "close'",
        '  z: "open',
        'close"',
        "  - [1,",
        "2]",
        "  {",
    ),
    *("  {", "}", "---", "...", "%TAG ! tag:x,2000:", "? a", ": b", "  # comment", "", "   ", "\t", "<<: {a: 1}"),
    *("g: &anchor 1", "h: *anchor", "i: !!str 5", "j: !!binary aGk=", "k: !unknown 1", "l: a: b", "  plain words", "*"),
    *(
        "m: \u2028n: 1",
        "o: 1\rp: 2",
        "\u00a0q: 1",
        "\ufeffr: 1",
        "s: '* * *'",
        "t: 'a & b'",
        "# comment",
        "!!map",
        "|",
        "  deep: [[[]]]",
    ),
]


def whole(text: str) -> object:
    """What SaltLoader makes of a text, or that it cannot."""
    try:
        return load_whole(text, SaltLoader)
    except yaml.YAMLError:
        return "wrong"


def by_blocks(text: str) -> object:
    try:
        return load_yaml(text)
    except yaml.YAMLError:
        return "wrong"


@settings(max_examples=examples(1500), deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=9))
def test_same_as_whole(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert repr(by_blocks(text)) == repr(whole(text))


@settings(max_examples=examples(500), deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=9))
def test_lines_are_those_of_the_whole_text(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    blocks = read_blocks(text)
    if blocks is not None:
        for path, line in _compose(text).items():
            assert blocks.find(path) == line, path
        assert blocks.find(("nothing", "here")) == 0


@settings(max_examples=examples(300), deadline=None)
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    assert repr(by_blocks(text)) == repr(whole(text))


def test_equal_entries_are_shared_and_copies_are_not() -> None:
    (first, _), (second, _) = load_shared("a:\n  - b: c\nd: 1\n"), load_shared("x: 2\na:\n  - b: c\n")
    assert first["a"] is second["a"] is not None
    own = load_yaml("a:\n  - b: c\n")
    assert own["a"] == first["a"]
    assert own["a"] is not first["a"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n", "just text", "{a: 1}", "a: &x 1\n", "  a: 1\nb: 2\n"])
def test_what_is_left_to_the_whole_reading(text: str) -> None:
    assert read_blocks(text) is None
