"""Pillar: order, includes, merge strategies, what may be missing, and errors that are all told."""

import pytest

from highstate.files import MemoryFiles
from highstate.memo.memo import Memo
from highstate.pillar.pillar import PillarResult, compile_pillar
from highstate.render.context import RenderContext
from highstate.types import Minion, Stage

MINION = Minion(id="web1", grains={"os": "Debian", "id": "web1"})


def compiled(
    tree: dict[str, str], *, envs: dict[str, dict[str, str]] | None = None, **settings: object
) -> PillarResult:
    trees = {"base": tree, **(envs or {})}
    files = MemoryFiles({env: {path: text.encode() for path, text in one.items()} for env, one in trees.items()})
    return compile_pillar(RenderContext(minion=MINION, files=files), **settings)


def pillar(tree: dict[str, str], **settings: object) -> dict[str, object]:
    result = compiled({"top.sls": "base:\n  '*':\n    - one\n    - two\n", **tree}, **settings)
    assert result.errors == ()
    return result.pillar


ONE = "a: {x: 1, l: [1, 2]}\nn: 1\no: {p: 1}\n"
TWO = "a: {y: 2, l: [2, 3]}\nn: null\n"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {"a": {"x": 1, "l": [2, 3], "y": 2}, "n": None, "o": {"p": 1}}),
        ({"strategy": "recurse"}, {"a": {"x": 1, "l": [2, 3], "y": 2}, "n": None, "o": {"p": 1}}),
        ({"merge_lists": True}, {"a": {"x": 1, "l": [1, 2, 3], "y": 2}, "n": None, "o": {"p": 1}}),
        ({"strategy": "overwrite"}, {"a": {"y": 2, "l": [2, 3]}, "n": None, "o": {"p": 1}}),
        ({"strategy": "aggregate"}, {"a": {"y": 2, "l": [2, 3]}, "n": None, "o": {"p": 1}}),
        ({"strategy": "nonsense"}, {"a": {"x": 1, "l": [2, 3], "y": 2}, "n": None, "o": {"p": 1}}),
        ({"strategy": "list"}, {}),
    ],
)
def test_merge_strategies(settings, expected):
    assert repr(pillar({"one.sls": ONE, "two.sls": TWO}, **settings)) == repr(expected)


def test_includes_come_before_and_the_including_one_wins():
    tree = {
        "one.sls": "include:\n  - inc.first\n  - inc.second\nown: 1\nboth: own\n",
        "two/init.sls": "z: 1\n",
        "inc/first.sls": "both: first\nf: 1\nord: first\n",
        "inc/second.sls": "both: second\nord: second\n",
    }
    assert pillar(tree) == {"both": "own", "f": 1, "ord": "second", "own": 1, "z": 1}
    assert pillar(tree, includes_override_sls=True)["both"] == "second"


def test_include_with_key_and_defaults():
    tree = {
        "one.sls": "include:\n  - inc:\n      key: a:b\n      defaults:\n        v: 7\n  - later\n",
        "two.sls": "include:\n  - .three\n",
        "three.sls": "t: 3\n",
        "inc.sls": "val: {{ v }}\n",
        "later.sls": "later: {{ v | default('none') }}\n",
    }
    assert pillar(tree) == {"a": {"b": {"val": 7}}, "later": 7, "t": 3}


def test_relative_includes_of_a_package():
    tree = {
        "one/init.sls": "include:\n  - .sub\n",
        "one/sub.sls": "include:\n  - .other\ns: 1\n",
        "one/other.sls": "o: 1\n",
        "two.sls": "",
    }
    assert pillar(tree) == {"o": 1, "s": 1}


def test_globs_in_top_and_includes_are_sorted():
    tree = {
        "top.sls": "base:\n  '*':\n    - 'p.*'\n",
        "p/b.sls": "v: b\nb: 1\n",
        "p/a.sls": "v: a\ninclude:\n  - 'q.*'\n",
        "q/x/init.sls": "x: 1\n",
    }
    result = compiled(tree)
    assert (result.pillar, result.errors) == ({"x": 1, "v": "b", "b": 1}, ())


def test_an_sls_included_twice_or_in_a_circle_is_rendered_once():
    assert pillar({"one.sls": "include: [two]\na: 1\n", "two.sls": "include: [one]\nb: 1\n"}) == {"a": 1, "b": 1}


def test_ignore_missing():
    tree = {"top.sls": "base:\n  '*':\n    - nope\n    - ignore_missing: True\n"}
    assert compiled(tree) == PillarResult(pillar={})


def test_order_of_targets():
    tree = {
        "top.sls": "base:\n  'web*':\n    - order: 2\n    - late\n  '*':\n    - order: 1\n    - early\n",
        "late.sls": "v: late\n",
        "early.sls": "v: early\n",
    }
    assert compiled(tree).pillar == {"v": "late"}


def test_pillar_is_not_there_while_it_is_made():
    assert pillar({"one.sls": "a: 1\n", "two.sls": "b: '{{ salt['pillar.get']('a') }}{{ pillar }}'\n"}) == {
        "a": 1,
        "b": "{}",
    }


def test_override_is_merged_over_the_result():
    tree = {"one.sls": "l: [1]\na: {b: 1}\n", "two.sls": ""}
    assert pillar(tree, override={"a": {"c": 2}}) == {"l": [1], "a": {"b": 1, "c": 2}}
    assert pillar(tree, override={"l": [9]}, merge_lists=True)["l"] == [1, 9]


def test_environments_and_pillarenv():
    envs = {"dev": {"top.sls": "dev:\n  '*':\n    - d\n", "d.sls": "env: {{ saltenv }}\nd: 1\n"}}
    tree = {"top.sls": "base:\n  '*':\n    - b\n", "b.sls": "env: {{ saltenv }}\nb: 1\n"}
    assert compiled(tree, envs=envs).pillar == {"env": "dev", "b": 1, "d": 1}
    assert compiled(tree, envs=envs, pillarenv="dev").pillar == {"env": "dev", "d": 1}
    assert compiled(tree, envs=envs, pillarenv="base").pillar == {"env": "base", "b": 1}
    assert compiled(tree, envs=envs, strategy="none").pillar == {"env": "base", "b": 1}
    assert compiled(tree, envs=envs, env_order=("dev", "base")).pillar["env"] == "base"


def test_all_errors_are_told_each_with_its_place():
    tree = {
        "top.sls": "base:\n  '*':\n    - broken\n    - yaml\n    - notthere\n    - chain\n    - shape\n    - ok\n",
        "broken.sls": "a: 1\nb: {{ grains.nope }}\n",
        "yaml.sls": "a: 1\na: 2\n",
        "chain.sls": "c: 1\ninclude:\n  - deep\n  - [1]\n",
        "deep.sls": "include:\n  - gone\n  - bad\n",
        "bad.sls": "{{ x }}",
        "shape.sls": "- 1\n",
        "gone2.sls": "",
        "ok.sls": "fine: 1\n",
    }
    result = compiled(tree)
    told = [(str(one.pos), one.pos.stage, one.pos.include_chain) for one in result.errors]
    assert told == [
        ("broken.sls:2", Stage.RENDER, ()),
        ("yaml.sls:2", Stage.YAML, ()),
        ("top.sls:5", Stage.PILLAR, ()),
        ("deep.sls:2", Stage.PILLAR, ("chain", "deep", "gone")),
        ("bad.sls:1", Stage.RENDER, ("chain", "deep", "bad")),
        ("chain.sls:4", Stage.PILLAR, ()),
        ("shape.sls", Stage.PILLAR, ()),
    ]
    assert result.errors[3].hint == "did you mean 'gone2'?"
    assert result.pillar["fine"] == 1


@pytest.mark.parametrize(
    "include", ["x", "{a: 1}", "[{a: 1}]", "[{a: {key: 1}}]", "[{a: {defaults: x}}]", "[null]", "[{a: {}, b: {}}]"]
)
def test_includes_of_a_wrong_shape(include):
    result = compiled({"top.sls": "base:\n  '*': [one]\n", "one.sls": f"include: {include}\n", "x.sls": ""})
    assert len(result.errors) == 1
    assert "include" in result.errors[0].message
    assert result.errors[0].pos.line == 1


def test_no_top_file_gives_an_empty_pillar():
    assert compiled({}) == PillarResult(pillar={})


def test_whole_pillars_are_memoised_by_what_was_read():
    memo, tree = (
        Memo(),
        {"top.sls": b"base:\n  'G@os:Debian':\n    - one\n", "one.sls": b"os: {{ grains.os }}\nl: []\n"},
    )
    files = MemoryFiles({"base": tree})
    for name in ("a", "b", "c"):
        minion = Minion(id=name, grains={"os": "Debian", "id": name})
        result = compile_pillar(RenderContext(minion=minion, files=files, memo=memo))
        assert result.pillar == {"os": "Debian", "l": []}
    assert (memo.hits, memo.misses) == (2, 4)  # two pillars, one SLS, and what blanks would save
    other = Minion(id="d", grains={"os": "RedHat"})
    assert compile_pillar(RenderContext(minion=other, files=files, memo=memo)).pillar == {}


def test_a_changed_file_and_a_new_one_are_noticed():
    memo = Memo()
    tree = {"top.sls": b"base:\n  '*': ['p.*']\n", "p/a.sls": b"a: 1\n"}
    seen = []
    for change in ({}, {"p/a.sls": b"a: 2\n"}, {"p/b.sls": b"b: 1\n"}):
        tree = {**tree, **change}
        seen.append(compile_pillar(RenderContext(minion=MINION, files=MemoryFiles({"base": tree}), memo=memo)).pillar)
    assert seen == [{"a": 1}, {"a": 2}, {"a": 2, "b": 1}]


def test_a_new_environment_is_noticed():
    memo = Memo()
    trees = {"base": {"top.sls": b"base:\n  '*': [a]\n", "a.sls": b"a: 1\n"}}
    assert compile_pillar(RenderContext(minion=MINION, files=MemoryFiles(trees), memo=memo)).pillar == {"a": 1}
    trees["dev"] = {"top.sls": b"dev:\n  '*': [b]\n", "b.sls": b"b: 1\n"}
    assert compile_pillar(RenderContext(minion=MINION, files=MemoryFiles(trees), memo=memo)).pillar == {"a": 1, "b": 1}


def test_what_a_pillar_read_is_told_to_the_caller():
    from highstate.memo.tracked import Recorder

    files = MemoryFiles({"base": {"top.sls": b"base:\n  '*': [one]\n", "one.sls": b"a: {{ grains.os }}\n"}})
    memo = Memo()
    for _ in range(2):
        context = RenderContext(minion=MINION, files=files, memo=memo)
        outer = Recorder(context.sources)
        compile_pillar(RenderContext(minion=MINION, files=files, memo=memo, reads=outer))
        assert list(outer.reads) == [
            ("file", "base", "top.sls"),
            ("saltenv", "base"),
            ("id", "glob", "*"),
            ("file", "base", "one.sls"),
            ("peek", "grains", ("os",)),
        ]
