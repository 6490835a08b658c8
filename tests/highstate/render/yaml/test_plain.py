"""What is read line by line is what libyaml reads; everything else is left to it."""

from __future__ import annotations

import pytest
import yaml
from effort import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from highstate.render.yaml.blocks import _word
from highstate.render.yaml.plain import read_plain
from highstate.salt_yaml import SaltLoader, load_whole

SCALARS = (
    *("text", "two words", "a  b", "/srv/x", "http://x:80/y", "0644", "'0644'", "10", "-1", "+1", "1.5", ".5", "1e3"),
    *("yes", "True", "null", "~", "2020-01-01", "1:30", "a:b", "a#b", "a #b", "a, b", "a]b", "a'b", 'a"b', "-a", "--"),
    *("'quoted: x'", '"quoted # x"', "''", "'it''s'", '"a\\n"', "[a, b]", "[1, yes]", "[a,b]", "[]", "{}", "{a: 1}"),
    *("|", "|-", "|+", ">", "&a x", "*a", "!!str 1", "!x", "@x", "%x", "`x`", "=", "<<", "?", "? a", "-", ":", "- a"),
    *(
        "...",
        "..",
        ".",
        "./x",
        "_",
        "$x",
        "(a)",
        "a:",
        "0x1f",
        "0b1",
        "0o7",
        "1_000",
        "é",
        "a\tb",
        "x" * 1100,
        "^",
        ";",
    ),
)
KEYS = ("a", "b", "pkg.installed", "name", "1", "yes", "'q'", "a b", "a:b", "x" * 1100, "<<", "...", "c ", "~")


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Lines of any indentation, most of which fit what stands above them."""
    lines = [draw(st.sampled_from(("k:", "k: ", "k:  # why", "1:")))]
    column = 0
    for _ in range(draw(st.integers(0, 9))):
        column = max(1, column + draw(st.sampled_from((0, 0, 0, 2, 2, -2, -4, 1, -1))))
        key, value = draw(st.sampled_from(KEYS)), draw(st.sampled_from(SCALARS))
        shape = draw(
            st.sampled_from(("{k}:", "{k}: {v}", "{k}:  {v}", "- {v}", "- {k}: {v}", "- {k}:", "-  {k}:", "{v}"))
        )
        line = shape.format(k=key, v=value)
        lines.append(draw(st.sampled_from((" " * column + line,) * 6 + ("", "   ", "# why", "    # why"))))
        if line.startswith("- ") and draw(st.booleans()):
            column += 2
    return "\n".join(lines) + draw(st.sampled_from(("\n", "\n", "\n\n", "")))


def whole(text: str) -> str:
    try:
        return repr(load_whole(text, SaltLoader))
    except yaml.YAMLError:
        return "wrong"


@settings(max_examples=examples(4000), deadline=None)
@given(documents())
def test_same_as_libyaml(text: str) -> None:
    found = read_plain(text, {}, _word)
    assert found is None or repr(found[0]) == whole(text)


@settings(max_examples=examples(4000), deadline=None)
@given(st.text(alphabet="ab:- #|'\",[]01.~\n\n  ", max_size=40))
@example("\n  - a: |\n      b\n     c\n")
@example("\n  - a: |\n      b\n\n    # c\n")
def test_any_text_below_a_key(below: str) -> None:
    text = (
        "k:"
        + "".join("\n" + (" " + line if line and line[0] not in " -" else line) for line in below.split("\n"))
        + "\n"
    )
    found = read_plain(text, {}, _word)
    assert found is None or repr(found[0]) == whole(text)


USUAL = """\
two words-1:
  file.managed:
    - name: /etc/x  # why
    - mode: '0640'
    - makedirs: True
    - order: 1
    - tags: [a, b]
    # a comment
    - contents: |
        first

          deeper: x
        last

    - require:
      - pkg: y
      - cmd
  pkg:
  - installed
  - pkgs:
      - a
"""


def test_what_trees_are_full_of_is_plain() -> None:
    found = read_plain(USUAL, {}, _word)
    assert found is not None
    assert repr(found[0]) == whole(USUAL)
    assert found[1] == "two words-1"


@pytest.mark.parametrize(
    "text", ["a: é\n", "a:\tb\n", "a: b", "a: &x b\n", "a:\n  b\n", "a:\n  b: 1\n  b: 2\n", "a: >\n  b\n"]
)
def test_what_is_left_to_libyaml(text: str) -> None:
    assert read_plain(text, {}, _word) is None


def test_words_are_resolved_once() -> None:
    asked: list[str] = []

    def resolve(text: str) -> str:
        asked.append(text)
        return text

    words: dict[str, object] = {}
    for _ in range(2):
        assert read_plain("a:\n  - b: c\n  - b: c\n", words, resolve) == ({"a": [{"b": "c"}, {"b": "c"}]}, "a")
    assert asked == ["a", "b", "c"]
