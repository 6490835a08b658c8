"""Laws of a compile: a pure function of its inputs, the same with a memo, errors as data whatever the tree."""

import itertools
import json
import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from highstate.compile import CompileOptions, compile_minion, compile_sls
from highstate.files import MemoryFiles
from highstate.memo.memo import Memo
from highstate.types import Minion

IDS = ["alpha", "beta", "gamma", "delta"]
STATES = ["pkg.installed", "file.managed", "service.running", "cmd.run"]
KINDS = ["require", "watch", "onchanges", "onfail", "require_in", "watch_in", "prereq", "onchanges_any", "use"]

requisites = st.tuples(
    st.sampled_from(KINDS),
    st.lists(st.tuples(st.sampled_from([s.split(".")[0] for s in STATES]), st.sampled_from(IDS)), max_size=2),
)


@st.composite
def sls_texts(draw, ids, includes):
    """An SLS that reads grains and pillar and whose states need each other, often in vain."""
    lines = []
    if includes:
        lines += ["include:"] + [f"  - {name}" for name in includes]
    for id_ in ids:
        guard = draw(st.sampled_from(["", "", "grains['os'] == 'Debian'", "pillar.get('on')", "'x' in pillar"]))
        if guard:
            lines.append(f"{{% if {guard} %}}")
        lines += [f"{id_}:", f"  {draw(st.sampled_from(STATES))}:"]
        lines.append("    - text: " + draw(st.sampled_from(["plain", "{{ pillar.get('x', 1) }}", "{{ grains.id }}"])))
        if draw(st.booleans()):
            lines.append(f"    - order: {draw(st.sampled_from(['1', 'last', '-1', '7']))}")
        kind, targets = draw(requisites)
        if targets:
            lines += [f"    - {kind}:"] + [f"      - {state}: {target}" for state, target in targets]
        if guard:
            lines.append("{% endif %}")
    return "\n".join(lines) + "\n"


@st.composite
def trees(draw):
    split = draw(st.integers(0, len(IDS)))
    files = draw(st.sampled_from(CONTENTS))
    return {
        "motd": files[1],
        "top.sls": b"base:\n  '*':\n    - a\n",
        "a.sls": draw(sls_texts(IDS[:split], ["b"])).encode(),
        "b.sls": draw(sls_texts(IDS[split:], [])).encode() + files[0],
    }


MANAGED = b"/etc/motd:\n  file.managed:\n    - "
SOURCE = MANAGED + b"source: salt://motd\n"
CONTENTS = [
    (b"", b""),
    (SOURCE, b"text"),
    (SOURCE + b"    - template: jinja\n", b"{{ pillar.get('x') }}"),
    (SOURCE + b"    - template: jinja\n", b"{{ pillar['x'] }} {{ salt['cmd.run']('date') }}"),
    (SOURCE + b"    - template: jinja\n", b"{{ grains['id'] }} {{ salt['cmd.run']('date') }}"),
    (SOURCE + b"    - template: mako\n", b"${x}"),
    (MANAGED + b"contents_pillar: x\n", b""),
    (MANAGED + b"contents_grains: id\n", b""),
]
"""What a file state adds to b.sls, and the file that it uses."""


pillars = st.fixed_dictionaries({}, optional={"on": st.booleans(), "x": st.integers(0, 2)})
minions = st.builds(
    lambda id_, os_: Minion(id=id_, grains={"id": id_, "os": os_}),
    st.sampled_from(["web1", "web2"]),
    st.sampled_from(["Debian", "RedHat"]),
)


def pillar_files(pillar):
    return MemoryFiles({"base": {"top.sls": b"base:\n  '*':\n    - p\n", "p.sls": json.dumps(pillar).encode()}})


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees(), st.lists(st.tuples(pillars, minions), min_size=2, max_size=5))
def test_memoised_equals_fresh(tree, wanted):
    files, memo = MemoryFiles({"base": tree}), Memo()
    for pillar, minion in wanted:
        fresh = compile_minion(files, pillar_files(pillar), minion, CompileOptions())
        assert compile_minion(files, pillar_files(pillar), minion, CompileOptions(), memo) == fresh
        assert compile_minion(files, pillar_files(pillar), minion, CompileOptions()) == fresh


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees(), pillars, minions)
def test_a_lowstate_keeps_its_promises(tree, pillar, minion):
    result = compile_minion(MemoryFiles({"base": tree}), pillar_files(pillar), minion, CompileOptions())
    if result.errors:
        assert result.lowstate == ()
        assert all(problem.message and problem.pos.file for problem in result.errors)
        return
    last = {(chunk.state, chunk.id): index for index, chunk in enumerate(result.lowstate)}
    for index, chunk in enumerate(result.lowstate):
        assert chunk.pos is not None
        assert chunk.pos.line > 0
        for kind in ("require", "watch", "onchanges", "onfail"):
            if "__prereq__" not in chunk.arguments:
                for requisite in chunk.arguments.get(kind, ()):
                    assert last[next(iter(requisite.items()))] < index


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from([*IDS, "test.nop", "a", "*", "salt://a", ""]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        *IDS,
                        *STATES,
                        *KINDS,
                        "include",
                        "extend",
                        "exclude",
                        "names",
                        "name",
                        "pkg",
                        "sls",
                        "order",
                        "__x",
                    ]
                )
                | st.integers(0, 1),
                inner,
                max_size=4,
            )
        ),
        max_leaves=20,
    )
)
def test_no_tree_raises(data):
    tree = {"top.sls": b"base:\n  '*':\n    - a\n", "a.sls": ("#!yaml\n" + json.dumps(data)).encode()}
    compiled = compile_minion(MemoryFiles({"base": tree}), MemoryFiles({"base": {}}), Minion(id="m"), CompileOptions())
    for problem in (*compiled.errors, *compiled.warnings):
        assert str(problem)


@pytest.mark.parametrize(
    "text",
    [
        "a: &x\n  test.nop: [*x]\n",
        "a: &x\n  test.nop:\n    - v: *x\n",
        "include: &x [*x]\n",
        "a:\n  test.nop:\n    - v: " + "[" * 3000 + "]" * 3000 + "\n",
        "a:\n  test.nop:\n    - " + "{v: " * 3000 + "1" + "}" * 3000 + "\n",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "a:\n  file.managed:\n    - source: salt://../../etc/passwd\n",
        "a:\n  file.managed:\n    - source: 'salt://'\n    - template: jinja\n",
        "a:\n  file.recurse:\n    - source: 'salt://'\n    - template: jinja\n",
        "a:\n  file.managed:\n    - source: [{}, [], 5]\n    - contents_pillar: {a: b}\n",
        "a:\n  file.managed:\n    - source: salt://a.sls?saltenv=none&x=%ff\n",
        "a:\n  __env__: nowhere\n  file.managed:\n    - source: salt://a.sls\n",
    ],
)
def test_hostile_text_ends_in_errors_or_chunks(text):
    tree = {"top.sls": b"base: {'*': [a]}", "a.sls": text.encode()}
    for files in (MemoryFiles({"base": tree}), MemoryFiles({"base": tree | {"b": b"{{ nosuch }}"}})):
        done = compile_minion(files, MemoryFiles({"base": {}}), Minion(id="m"), CompileOptions(), Memo())
        assert done.errors or done.lowstate


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [" + ", ".join([f"*{below}"] * 10) + "]\n" for below, name in itertools.pairwise("abcdefghij")
)


@pytest.mark.parametrize(
    "text", ["a: &x [*x]\n", "a: " + "[" * 3000 + "]" * 3000, LAUGHS], ids=["self", "deep", "laughs"]
)
def test_data_without_end_is_refused(text):
    top = b"base: {'*': [a]}"
    good, bad = MemoryFiles({"base": {}}), MemoryFiles({"base": {"top.sls": top, "a.sls": text.encode()}})
    for files, pillar in ((bad, good), (good, bad)):
        done = compile_minion(files, pillar, Minion(id="m"), CompileOptions(), Memo())
        assert len(done.errors) >= 1
        assert done.pillar == {}


def test_includes_nested_without_end():
    tree = {f"s{n}.sls": f"include: [s{n + 1}]\n".encode() for n in range(400)} | {"top.sls": b"base: {'*': [s0]}"}
    done = compile_minion(MemoryFiles({"base": tree}), MemoryFiles({"base": {}}), Minion(id="m"), CompileOptions())
    assert "more than 150" in done.errors[0].message


PROGRAM = """
import json
from highstate.files import MemoryFiles
from highstate.types import Minion
from highstate.compile_options import CompileOptions
from highstate.compile import compile_minion
a = b'''
include: [b]
all:
  test.nop:
    - order: 1
    - require:
      - pkg: '*'
      - sls: b
{% for name in ['one', 'two', 'three', 'four'] %}
{{ name }}:
  pkg.installed:
    - names: [x{{ name }}, y{{ name }}]
{% endfor %}
'''
b = b"b1: test.nop\\nb2: test.nop\\nb3: test.nop\\n"
files = MemoryFiles({"base": {"top.sls": b"base: {'*': [a]}", "a.sls": a, "b.sls": b}})
done = compile_minion(files, MemoryFiles({"base": {}}), Minion(id="m"), CompileOptions())
print(json.dumps([[c.as_salt() for c in done.lowstate], done.highstate, [str(p) for p in done.errors]]))
"""


def test_the_hash_seed_does_not_matter():
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    (output,) = outputs
    low, _, errors = json.loads(output)
    assert errors == []
    assert len(low) == 12
    assert [chunk["__id__"] for chunk in low][-1] == "all"


TREE = MemoryFiles(
    {
        "base": {
            "top.sls": b"base: {'*': [a]}",
            "a.sls": b"{% set n = 1 %}\ninclude: [b]\n\nx:\n  test.nop:\n    - v: {{ pillar.get('v', 0) }}\n",
            "b.sls": b"y:\n  test.nop: []\n",
        }
    }
)


def test_positions_and_high_data():
    done = compile_minion(TREE, MemoryFiles({"base": {}}), Minion(id="m"), CompileOptions())
    y, x = done.lowstate
    assert (x.pos.file, x.pos.line, x.pos.template_line) == ("a.sls", 4, 4)
    assert y.pos.include_chain == ("a", "b")
    assert done.matches == {"base": ("a",)}
    assert done.highstate["y"] == {
        "test": ["nop", {"order": 10000}],
        "__sls__": "b",
        "__env__": "base",
        "__sls_included_from__": ["a"],
    }


def test_arguments_whose_names_are_no_text_to_yaml_have_those_of_json():
    text = b"a:\n  test.nop:\n    - null: 1\n    - on: 2\n    - 80: {80: x}\n    - 2024-01-01: 4\n"
    tree = MemoryFiles({"base": {"top.sls": b"base: {'*': [a]}", "a.sls": text}})
    (chunk,) = compile_minion(tree, MemoryFiles({"base": {}}), Minion(id="m"), CompileOptions()).lowstate
    assert chunk.arguments == {"null": 1, "true": 2, "80": {80: "x"}, "2024-01-01": 4}


def test_sls_with_a_pillar_of_the_caller():
    done = compile_sls(
        TREE, MemoryFiles({"base": {}}), Minion(id="m"), CompileOptions(), ["a"], pillar_override={"v": 5}
    )
    assert done.lowstate[1].arguments["v"] == 5
    assert done.pillar == {"v": 5}


def test_sls_that_is_not_there():
    done = compile_sls(TREE, MemoryFiles({"base": {}}), Minion(id="m"), CompileOptions(), ["aa", "b"])
    (problem,) = done.errors
    assert "aa.sls and aa/init.sls" in problem.message


def test_one_bad_sls_does_not_hide_the_others():
    tree = MemoryFiles(
        {
            "base": {
                "top.sls": b"base: {'*': [a, b, c]}",
                "a.sls": b"a: {{ nosuch }}",
                "b.sls": b"b:\n  test.nop: x\n",
                "c.sls": b"extend:\n  a:\n    test:\n      - x: 1\n",
            }
        }
    )
    done = compile_minion(tree, MemoryFiles({"base": {}}), Minion(id="m"), CompileOptions())
    assert [problem.pos.file for problem in done.errors] == ["a.sls", "b.sls"]


def test_a_warning_for_what_is_ignored():
    tree = {"top.sls": b"base: {'*': [a]}", "a.sls": b"alpha:\n  test.nop:\n    - require_in:\n      - alhpa\n"}
    done = compile_minion(MemoryFiles({"base": tree}), MemoryFiles({"base": {}}), Minion(id="m"), CompileOptions())
    (warning,) = done.warnings
    assert done.ok
    assert "'alpha'" in warning.hint


@pytest.mark.parametrize("opts", [{"allow_undefined": True}, {"jinja_env": {}, "jinja_trim_blocks": True}])
def test_a_memo_tells_settings_apart_that_shape_every_render(opts):
    sls = "a:\n  test.nop:\n    - v: '{% if true %}\n{% endif %}[{{ nothing | default('') }}{{ nothing }}]'\n"
    top = "base:\n  '*':\n    - a\n"
    files = MemoryFiles({"base": {"top.sls": top.encode(), "a.sls": sls.encode()}})
    memo, minion = Memo(), Minion(id="m", grains={"id": "m"})
    for chosen in CompileOptions(), CompileOptions(opts=opts), CompileOptions():
        remembered = compile_minion(files, MemoryFiles({}), minion, chosen, memo)
        fresh = compile_minion(files, MemoryFiles({}), minion, chosen)
        assert (remembered.lowstate, remembered.errors) == (fresh.lowstate, fresh.errors)
