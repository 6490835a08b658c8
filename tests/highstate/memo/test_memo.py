"""The law of the memo: what it gives equals what a fresh render gives, for every minion and tree."""

import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from highstate.files import MemoryFiles
from highstate.memo.memo import Memo
from highstate.memo.sources import ReadSources
from highstate.pillar.pillar import compile_pillar
from highstate.render.context import RenderContext, RenderFailed
from highstate.render.pipeline import render_sls, render_template
from highstate.types import Minion

KEYS = ["a", "b", "c", "os"]
key = st.sampled_from(KEYS)
scalar = st.one_of(
    st.none(), st.booleans(), st.integers(0, 2), st.sampled_from(["x", "y", "1", "Debian"]), st.just(1.0)
)
value = st.recursive(
    scalar,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(key, inner, max_size=3)),
    max_leaves=8,
)
data = st.dictionaries(key, value, max_size=4)
root = st.sampled_from(["pillar", "grains"])

FRAGMENTS = [
    "{{ {root}.{k} }}",
    "{{ {root}['{k}']['{j}'] }}",
    "{{ {root}.get('{k}') }}",
    "{{ {root}.get('{k}', 'none') }}",
    "{% if '{k}' in {root} %}yes{% else %}no{% endif %}",
    "{% if {root}.{k} is defined and {root}.{k} is mapping %}{{ {root}.{k} | length }}{% endif %}",
    "{% for one in {root} %}{{ one }},{% endfor %}",
    "{% for one, two in {root}.items() %}{{ one }}={{ two }},{% endfor %}",
    "{% for one in {root} %}{% for two in {root}[one] %}{{ two }}{% endfor %}{% endfor %}",
    "{{ {root} | json }}",
    "{{ {root} | yaml }}",
    "{{ {root} }}",
    "{{ {root} | length }}",
    "{{ {root}.values() | list }}",
    "{{ {root} == {'a': 1} }}",
    "{{ {root}.{k} == 1 }}",
    "{{ salt['{root}.get']('{k}:{j}') }}",
    "{{ salt['{root}.get']('{k}:0', 'dflt') }}",
    "{{ salt['pillar.get']('{k}', {'z': 1}, merge=True) }}",
    "{{ salt['grains.filter_by']({'Debian': {'p': 1}, 'x': {'p': 2}, 'default': {'p': 3}}, grain='{k}') }}",
    "{{ salt['config.get']('{k}') }}",
    "{{ salt['{root}.item']('{k}', '{j}') }}",
    "{{ salt['match.compound']('G@{k}:x or I@{j}:*') }}",
    "{{ salt['match.glob']('m*1') }}",
    "{% set d = {'a': 0} %}{% do d.update({root}) %}{{ d }}",
    "{% do {root}.update({'a': 5}) %}{{ {root}.a }}",
    "{% if {root}.{k} is defined and {root}.{k} is iterable %}{{ ['x', 'y'] | difference({root}.{k}) }}{% endif %}",
    "{{ {root}.{k} | default('d') }}",
    "{{ ({root}.{k} | default({})) | length }}",
    "{% import_yaml 'lib.yaml' as lib %}{{ lib }}",
    "{% from 'map.jinja' import found with context %}{{ found }}",
    "{{ salt['pillar.file_exists']('{k}.yaml') }}",
    "{{ opts.id is defined }}{{ opts.get('{k}') }}",
    "{{ {root}.keys() | sort }}",
    "{{ dict({root}) }}",
    "{{ {root}.copy() }}{{ {root}.pop('{k}', 1) }}",
    "{{ salt['slsutil.merge']({'a': {'b': 1}}, {root}) }}",
]


@st.composite
def fragment(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(FRAGMENTS))
    for name, strategy in (("{root}", root), ("{k}", key), ("{j}", key)):
        text = text.replace(name, draw(strategy))
    return text


minion = st.builds(lambda name, grains: Minion(id=name, grains=grains), st.sampled_from(["m1", "m2", "db1"]), data)
tree = st.fixed_dictionaries(
    {
        "t.sls": st.lists(fragment(), min_size=1, max_size=5).map(lambda parts: "- >-\n " + "\n ".join(parts)),
        "map.jinja": fragment().map(lambda part: "{% set found %}" + part + "{% endset %}"),
        "lib.yaml": fragment().map(lambda part: f"v: |\n  {part}\n"),
    },
    optional={"a.yaml": st.just("")},
)


def outcome(context: RenderContext, path: str = "t.sls") -> object:
    try:
        done = render_sls(path, context, sls="t")
    except RenderFailed as failed:
        return ("failed", str(failed.problem))
    return (repr(done.data), done.text, done.lines.template_line(2))


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(trees=st.lists(tree, min_size=1, max_size=2), minions=st.lists(st.tuples(minion, data), min_size=2, max_size=6))
def test_a_memoised_render_equals_a_fresh_one(trees, minions):
    memo = Memo(size=8)
    for content in trees:
        files = MemoryFiles({"base": {path: text.encode() for path, text in content.items()}})
        for one, pillar in minions + minions:
            fresh = outcome(RenderContext(minion=one, files=files, pillar=pillar))
            assert outcome(RenderContext(minion=one, files=files, pillar=pillar, memo=memo)) == fresh
    assert memo.conflicts == 0


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    part=fragment(),
    other=fragment(),
    target=st.sampled_from(["m*", "G@a:x", "db1", "not m1"]),
    minions=st.lists(minion, min_size=2, max_size=5),
)
def test_a_memoised_pillar_equals_a_fresh_one(part, other, target, minions):
    files = MemoryFiles(
        {
            "base": {
                "top.sls": f"base:\n  '*':\n    - one\n  '{target}':\n    - two\n".encode(),
                "one.sls": f"one: |\n  {part}\n".encode(),
                "two.sls": f"include:\n  - three\ntwo: |\n  {other}\n".encode(),
                "three.sls": b"three: {{ grains.get('a') | json }}\n",
                "map.jinja": b"{% set found = grains.get('b') %}",
                "lib.yaml": b"v: {{ grains.get('c') | json }}\n",
            }
        }
    )
    memo = Memo()
    for one in minions + minions:
        fresh = compile_pillar(RenderContext(minion=one, files=files))
        again = compile_pillar(RenderContext(minion=one, files=files, memo=memo))
        assert repr(again) == repr(fresh)
    assert memo.conflicts == 0


def context(memo: Memo | None, text: str, **grains: object) -> RenderContext:
    files = MemoryFiles({"base": {"t.sls": text.encode()}})
    return RenderContext(minion=Minion(id=str(grains.get("id", "m")), grains=grains), files=files, memo=memo)


def test_minions_share_a_result_when_what_was_read_is_equal():
    memo = Memo()
    for name in string.ascii_lowercase:
        render_sls("t.sls", context(memo, "a: {{ grains.os }}", id=name, os="Debian"), sls="t")
    assert (memo.hits, memo.misses, len(memo)) == (25, 1, 1)


@pytest.mark.parametrize(
    ("one", "two"), [(1, True), (1, 1.0), ("1", 1), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ([], ())]
)
def test_values_that_print_differently_are_told_apart(one, two):
    memo = Memo()
    for value in (one, two):
        text = "a: {{ grains.v | string | yaml_dquote }}"
        assert outcome(context(memo, text, v=value)) == outcome(context(None, text, v=value))


def test_a_memo_shares_its_results_and_without_one_they_belong_to_the_caller():
    memo = Memo()
    first = render_sls("t.sls", context(memo, "a: [1]"), sls="t").data
    assert render_sls("t.sls", context(memo, "a: [1]"), sls="t").data is first
    assert memo.hits == 1
    own = render_sls("t.sls", context(None, "a: [1]"), sls="t").data
    own["a"].append("mine")
    assert render_sls("t.sls", context(None, "a: [1]"), sls="t").data == first == {"a": [1]}


def test_aliases_stay_aliases_after_a_hit():
    memo = Memo()
    for _ in range(2):
        data = render_sls("t.sls", context(memo, "a: &x [1]\nb: *x"), sls="t").data
        assert data["a"] is data["b"]


def test_a_changed_import_is_noticed():
    memo = Memo()
    for number in (1, 2):
        files = MemoryFiles({"base": {"t.sls": b"{% import_yaml 'd.yaml' as d %}a: {{ d }}", "d.yaml": b"%d" % number}})
        done = render_sls("t.sls", RenderContext(minion=Minion(id="m"), files=files, memo=memo), sls="t")
        assert done.data == {"a": number}


def test_live_functions_are_never_memoised_but_named():
    memo, answers = Memo(), iter("12")
    files = MemoryFiles({"base": {"f": b"{{ salt['cmd.run']('x') }}"}})
    for expected in "12":
        work = RenderContext(
            minion=Minion(id="m"), files=files, memo=memo, functions={"cmd.run": lambda _: next(answers)}
        )
        done = render_template("f", work)
        assert (done.text, done.volatile) == (expected, ("cmd.run",))
    assert len(memo) == 0


def test_failures_are_shared_too_but_not_their_frames():
    memo, raised = Memo(), []
    for name in ("m1", "m2"):
        with pytest.raises(RenderFailed) as caught:
            render_sls("t.sls", context(memo, "{{ grains.nope }}", id=name), sls="t")
        raised.append(caught.value)
    assert memo.hits == 1
    assert raised[0] is not raised[1]
    [leaf] = memo._leaves.values()
    assert leaf.result.failed.__traceback__ is None
    assert leaf.result.failed.__context__ is None


def test_it_is_bounded_and_forgets_what_was_not_used_for_longest():
    memo = Memo(size=3)
    sources = {n: ReadSources(minion_id="m", roots={"grains": {"n": n}}, files=MemoryFiles({})) for n in range(5)}
    read = ("value", "grains", ("n",))
    for n in (0, 1, 2):
        memo.store("key", {read: sources[n].digest(read)}, n)
    assert memo.find("key", sources[0]).result == 0
    memo.store("key", {read: sources[3].digest(read)}, 3)
    assert [memo.find("key", sources[n]) is not None for n in range(4)] == [True, False, True, True]
    assert len(memo) == 3


def test_a_bound_of_nothing_leaves_nothing_behind():
    memo = Memo(size=0)
    for n in range(3):
        render_sls("t.sls", context(memo, "a: {{ grains.n }}", n=n), sls="t")
    assert len(memo) == 0
    assert memo._trees == {}


def test_the_older_half_is_forgotten():
    memo = Memo()
    files = MemoryFiles({"base": {}})
    sources = ReadSources(minion_id="a", roots={"grains": {}, "pillar": {}, "opts": {}}, files=files)
    for number in range(4):
        memo.store(number, {}, f"result {number}")
    assert memo.find(0, sources).result == "result 0"
    memo.forget_oldest()
    assert [number for number in range(4) if memo.find(number, sources)] == [0, 3]
