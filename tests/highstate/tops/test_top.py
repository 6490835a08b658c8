"""Top files: merge strategies over saltenvs, matchers, and errors where Salt would go on with less."""

import pytest

from highstate.files import MemoryFiles
from highstate.memo.memo import Memo
from highstate.render.context import RenderContext
from highstate.tops.top import TopResult, top_matches
from highstate.types import Minion, Stage

MINION = Minion(id="web1", grains={"os": "Debian"})


def top(trees: dict[str, dict[str, str]] | str, **settings: object) -> TopResult:
    trees = {"base": {"top.sls": trees}} if isinstance(trees, str) else trees
    files = MemoryFiles({env: {path: text.encode() for path, text in one.items()} for env, one in trees.items()})
    context = RenderContext(minion=MINION, files=files, pillar={"role": "web"})
    return top_matches(context, **settings)


def matches(trees: dict[str, dict[str, str]] | str, **settings: object) -> dict[str, tuple[str, ...]]:
    result = top(trees, **settings)
    assert result.errors == ()
    return dict(result.matches)


def test_matchers():
    text = """
base:
  '*': [all]
  'os:Debian': [not-without-a-matcher]
  'G@os:Debian and web*': [compound]
  'os:Deb*':
    - match: grain
    - grain
  'role:web':
    - match: pillar
    - pillar
  'I@role:web': [compound-pillar]
  'web1,web2':
    - match: list
    - list
  'group':
    - match: nodegroup
    - nodegroup
  'db*': [db]
"""
    expected = ("all", "compound", "grain", "pillar", "compound-pillar", "list", "nodegroup")
    assert matches(text, nodegroups={"group": "web*"}) == {"base": expected}


def test_names_that_come_twice_stay_and_a_later_target_replaces():
    assert matches("base:\n  '*': [a, a]\n  'w*': [a]\n") == {"base": ("a", "a", "a")}
    trees = {"base": {"top.sls": "include: [more]\nbase:\n  '*': [a]\n", "more.sls": "base:\n  '*': [b]\n"}}
    assert matches(trees) == {"base": ("b",)}


def test_items_of_another_environment():
    trees = {"base": {"top.sls": "base:\n  '*':\n    - a\n    - qa: q\n    - nope: x\n"}, "qa": {}}
    assert matches(trees) == {"base": ("a",), "qa": ("q",)}


TREES = {
    "base": {"top.sls": "base:\n  '*': [b]\ndev:\n  'w*': [from-base]\n"},
    "dev": {"top.sls": "base:\n  '*': [dev-says]\ndev:\n  '*': [d]\nqa:\n  '*': [q]\n"},
    "qa": {"top.sls": "qa:\n  '*': [own]\n"},
    "prod": {},
}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {"base": ("b",), "dev": ("from-base",), "qa": ("own",)}),
        ({"strategy": "nonsense"}, {"base": ("b",), "dev": ("from-base",), "qa": ("own",)}),
        ({"strategy": "same"}, {"base": ("b",), "dev": ("d",), "qa": ("own",)}),
        (
            {"strategy": "merge_all"},
            {"base": ("b", "dev-says"), "dev": ("from-base", "d"), "qa": ("q", "own")},
        ),
        ({"saltenv": "dev"}, {"dev": ("d",)}),
        ({"top_saltenv": "dev"}, {"dev": ("d",)}),
        ({"top_saltenv": "base"}, {"base": ("b",), "dev": ("from-base",)}),
        ({"saltenv": "nope"}, {}),
    ],
)
def test_strategies(settings, expected):
    assert matches(TREES, **settings) == expected


def test_same_falls_back_to_the_default_top():
    trees = {"base": {"top.sls": "prod:\n  '*': [p]\n"}, "prod": {}}
    assert matches(trees, strategy="same") == {"prod": ("p",)}
    assert matches(trees, strategy="same", default_top="prod") == {}


def test_another_name_for_the_top_file():
    assert matches({"base": {"my.sls": "base:\n  '*': [a]\n"}}, top_file="my.sls") == {"base": ("a",)}


def test_none_and_empty():
    assert top({"base": {}}).found == ()
    assert matches({"base": {"top.sls": ""}}) == {}
    assert top("base:\n  'db*': [a]\n").found == ("base",)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("base:\n  '*': common\n", 2, "must hold a list of SLS names, not a string"),
        ("base:\n  '*':\n", 2, "not a null"),
        ("base:\n", 1, "must hold a mapping of targets, not a null"),
        ("base: [a]\n", 1, "must hold a mapping of targets, not a list"),
        ("- base\n", 0, "a top file must be a mapping"),
        ("base:\n  '*':\n    - 1\n", 3, "1 is not an SLS name"),
        ("base:\n  '*':\n    - match:\n    - a\n", 3, "has no value"),
        ("base:\n  '*':\n    - match: grian\n", 3, "there is no matcher 'grian'"),
        ("base:\n  '%web':\n    - match: range\n    - a\n", 3, "the matcher range is not supported"),
        ("base:\n  'web* or R@%web':\n    - a\n", 2, "asked of a server"),
        ("1:\n  '*': [a]\n", 1, "saltenv 1 in the top file is not a name"),
        ("base:\n  '*': [a]\n  '*': [b]\n", 3, "found conflicting ID"),
        ("base:\n  '*':\n    - {{ nope }}\n", 3, "undefined"),
        ("include: x\n", 1, "include must be a list"),
        ("include: [gone]\n", 1, "includes 'gone', which is not there"),
    ],
)
def test_errors(text, line, says):
    result = top(text)
    assert result.matches == {}
    assert says in result.errors[0].message
    assert result.errors[0].pos.file == "top.sls"
    assert result.errors[0].pos.line == line


def test_all_errors_at_once_with_their_excerpts():
    result = top("base:\n  a: x\n  b:\n    - match: nope\n    - c\n")
    assert [one.pos.line for one in result.errors] == [2, 4]
    assert "> 4 |     - match: nope" in result.errors[1].excerpt
    assert result.errors[0].pos.stage is Stage.TOP


def test_lines_are_those_of_the_template():
    result = top("{% for t in ['a', 'b'] %}\nx{{ t }}: 1\n{% endfor %}\n\nbase:\n  '*': [one]\n")
    assert [one.pos.template_line for one in result.errors] == [2, 2]


def test_locations_of_names():
    result = top("base:\n  '*':\n    - a\n    - b\n")
    assert result.locations["base", "b"].line == 4


def test_minions_share_the_rendered_top():
    memo = Memo()
    files = MemoryFiles({"base": {"top.sls": b"base:\n  'web*': [a]\n"}})
    for name, expected in (("web1", {"base": ("a",)}), ("web2", {"base": ("a",)}), ("db", {})):
        assert top_matches(RenderContext(minion=Minion(id=name), files=files, memo=memo)).matches == expected
    assert (memo.hits, memo.misses) == (2, 1)
