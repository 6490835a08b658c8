"""The law of classes: what one compile gives for another minion of its class equals a compile of its own."""

from __future__ import annotations

from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from highstate.compile import CompileOptions, compile_minion, shapes
from highstate.compile.shapes import Placeholder, shape_of, with_placeholders
from highstate.files import MemoryFiles
from highstate.memo.memo import Memo
from highstate.types import Compiled, Minion

SETTINGS = CompileOptions()
LENIENT = CompileOptions(missing_source="fail_state")
URLS = ["salt://1.txt", "salt://x.txt", "__slot__:salt:test.echo(1)", "jinja", "''"]
VALUES = [*URLS, "1", "true", "x", "one", "'0644'", "[a, b]", "{k: v}", "null", "web", "{% raw %}{{{% endraw %}"]
NAMES = ["a", "b", "c"]

DECLARATIONS = [
    "{id}:\n  test.nop:\n    - value: {own}\n",
    "{id}:\n  test.nop:\n    - name: {own}\n",
    "{id}:\n  test.nop:\n    - names:\n      - {own}\n      - other\n    - value: {own}\n",
    "{id}:\n  test.nop:\n    - names:\n      - n1:\n        - value: {own}\n      - n2\n",
    "{id}:\n  test.nop:\n    - order: {own}\n    - value: 1\n",
    "{id}:\n  test.nop:\n    - value: {own}\n    - require:\n      - test: {other}\n",
    "{id}:\n  test.nop:\n    - value: {own}\n    - require_in:\n      - test: {other}\n",
    "{id}:\n  test.nop:\n    - require:\n      - test: {own}\n",
    "{id}:\n  test.nop:\n    - use:\n      - test: {other}\n",
    "{id}:\n  test.nop:\n    - mine: {own}\n    - use_in:\n      - test: {other}\n",
    "{id}:\n  test.nop:\n    - value: {own}\n  cmd.run:\n    - prereq:\n      - test: {other}\n",
    "{id}:\n  file.managed:\n    - source: salt://t.jinja\n    - template: jinja\n    - context: {{v: {own}}}\n",
    "{id}:\n  file.managed:\n    - source: salt://t.jinja\n    - template: jinja\n    - mode: {own}\n",
    "{id}:\n  file.managed:\n    - source: salt://{{{{ grains.get('own') }}}}.txt\n",
    "{id}:\n  file.managed:\n    - source: {own}\n    - template: jinja\n",
    "{id}:\n  file.managed:\n    - contents: {own}\n    - template: {own}\n    - source: salt://x.txt\n",
    "{id}:\n  file.append:\n    - text: {own}\n    - sources: {own}\n",
    "{id}:\n  cmd.script:\n    - source: {own}\n    - args: {own}\n",
    "{id}:\n  cmd.run:\n    - onlyif: {own}\n    - env: {own}\n",
    "{id}:\n  test.check_pillar:\n    - present: {own}\n",
    "{id}:\n  file.managed:\n    - contents_pillar: own\n    - user: {own}\n",
    "{id}:\n  test.nop:\n    - value: {own}\n    - value: 2\n    - {{a: 1, b: {own}}}\n",
    "{id}:\n  test.nop:\n    - value: {own}\n    - require:\n      - sls: one\n",
    "{{% if grains.get('own') == 1 %}}\n{id}:\n  test.nop: []\n{{% endif %}}\n",
    "{id}: test.nop\n",
    "extend:\n  {other}:\n    test:\n      - value: {own}\n",
    "exclude:\n  - id: {other}\n",
    "exclude:\n  - nobody: {other}\n",
    "{id}:\n  test.nop:\n    - value: {own}\n    - require: []\n    - require:\n      - test: {other}\n",
    "{id}:\n  test.nop:\n    - value: {own}\n    - require_in:\n      - nothing\n",
    "{id}:\n  test.nop:\n    - value: {own}\n    - use:\n      - {own}\n",
    "include:\n  - two\n",
]


@st.composite
def sls(draw: st.DrawFn) -> str:
    chosen = draw(st.lists(st.sampled_from(DECLARATIONS), min_size=1, max_size=4, unique=True))
    ids = draw(st.permutations(NAMES))
    return "".join(
        text.format(
            id=ids[at % 3] + str(at),
            other=draw(st.sampled_from(NAMES)) + draw(st.sampled_from("012")),
            own=draw(st.sampled_from(["{{ pillar.get('own') | json }}", "{{ grains.get('own') | json }}", "fixed"])),
        )
        for at, text in enumerate(chosen)
    )


tree = st.fixed_dictionaries(
    {
        "one.sls": sls(),
        "two.sls": sls().map(lambda text: text.replace("0:", "7:").replace("1:\n  t", "8:\n  t")),
        "t.jinja": st.sampled_from(["{{ v }}", "{{ grains.own }}", "{{ pillar.own }}", "text", "{{ salt['x.y']() }}"]),
        "1.txt": st.sampled_from(["first", "second"]),
        "x.txt": st.just("x"),
    }
)
own = st.sampled_from([1, True, 0, "", False, [], "x", "1", "a0", "b1", [1], None, {"k": 1}])
fleet = st.lists(st.tuples(st.sampled_from(["m1", "m2", "m3"]), own, own), min_size=2, max_size=6)


def compiled(
    content: dict[str, str],
    who: tuple[str, object, object],
    memo: Memo | None = None,
    options: CompileOptions = SETTINGS,
) -> Compiled:
    states = {"top.sls": "base:\n  '*':\n    - one\n  'm1':\n    - two\n", **content}
    pillar = {"top.sls": "base:\n  '*':\n    - p\n", "p.sls": "own: {{ grains.inner | json }}\n"}
    minion = Minion(id=who[0], grains={"id": who[0], "own": who[1], "inner": who[2]})
    trees = [MemoryFiles({"base": {path: text.encode() for path, text in one.items()}}) for one in (states, pillar)]
    return compile_minion(trees[0], trees[1], minion, options, memo)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(trees=st.lists(tree, min_size=1, max_size=3), minions=fleet)
def test_a_memoised_compile_equals_a_fresh_one(trees: list[dict[str, str]], minions: list[tuple[str, object, object]]):
    memo = Memo()
    edited: dict[str, str] = {}
    for number, content in enumerate(trees):
        # A push: of a later tree some files alone.
        edited = content if not number else {**edited, **dict(list(content.items())[: number + 1])}
        for who in minions + minions:
            for options in SETTINGS, LENIENT:
                fresh = compiled(edited, who, options=options)
                again = compiled(edited, who, memo, options)
                assert again == fresh
                assert repr(again) == repr(fresh)
    assert memo.conflicts == 0


PLAIN = {"one.sls": "a:\n  test.nop:\n    - v: {{ grains.own }}\n    - w: 1\nb:\n  test.nop:\n    - w: 2\n"}


def test_further_minions_of_a_class_take_over_what_is_equal():
    memo = Memo()
    first, second, third = (compiled(PLAIN, ("m2", own, 0), memo) for own in ("x", "y", "z"))
    assert not first.like
    for further, own in (second, "y"), (third, "z"):
        assert further.like == first.lowstate
        assert further.lowstate[0].arguments == {"v": own, "w": 1}
        assert further.lowstate[1] is first.lowstate[1]
    assert third.highstate["a"]["test"][0] == {"v": "z"}


def test_a_file_that_broke_after_the_first_minion_of_a_class_is_told_to_each():
    memo = Memo()
    text = "a:\n  file.managed:\n    - source: salt://t.jinja\n    - template: jinja\n    - x: {{ grains.own }}\n"
    assert compiled({"one.sls": text, "t.jinja": "good"}, ("m2", "x", 0), memo).ok
    for own in ("y", "z"):
        broken = {"one.sls": text, "t.jinja": "{{ v.w }}"}
        found = compiled(broken, ("m2", own, 0), memo)
        assert found.errors
        assert found == compiled(broken, ("m2", own, 0))


def test_what_a_class_is_warned_of_is_told_to_each():
    memo = Memo()
    text = PLAIN["one.sls"] + "c:\n  test.nop:\n    - require: [{test: a}]\n    - require: [{test: b}]\n"
    for own in ("x", "y", "z"):
        found = compiled({"one.sls": text}, ("m2", own, 0), memo)
        assert found == compiled({"one.sls": text}, ("m2", own, 0))
        [warning] = found.warnings
        assert "has `require` more than once" in warning.message
    assert found.like


def test_a_warning_that_prints_a_value_leaves_every_minion_to_itself():
    memo = Memo()
    text = "a:\n  test.nop:\n    - require_in:\n      - {{ grains.own }}\n"
    for own in ("x", "y", "z", "x"):
        found = compiled({"one.sls": text}, ("m2", own, 0), memo)
        assert found == compiled({"one.sls": text}, ("m2", own, 0))
        assert repr(own) in found.warnings[0].message


def test_values_that_are_false_are_values():
    memo = Memo()
    for own in (1, 0, "", None, 2):
        assert compiled(PLAIN, ("m2", own, 0), memo) == compiled(PLAIN, ("m2", own, 0))


def test_a_value_that_is_looked_at_leaves_every_minion_to_itself():
    memo = Memo()
    # `use` names a state by a value of one of its arguments.
    text = "a:\n  test.nop:\n    - v: {{ grains.own }}\nb:\n  test.nop:\n    - use:\n      - test: x\n"
    for own in ("x", "y", "z", "x"):
        who = ("m2", own, 0)
        assert compiled({"one.sls": text}, who, memo) == compiled({"one.sls": text}, who)
        assert not compiled({"one.sls": text}, who, memo).like


def test_shapes_leave_out_values_alone():
    one = {"a": {"pkg.installed": [{"version": 1}, {"require": [{"pkg": "b"}]}]}}
    other = {"a": {"pkg.installed": [{"version": 2}, {"require": [{"pkg": "b"}]}]}}
    assert shape_of(one).digest == shape_of(other).digest
    assert shape_of(other).values == {"a": (2,)}
    for different in (
        {"a": {"pkg.installed": [{"version": 1}, {"require": [{"pkg": "c"}]}]}},
        {"a": {"pkg.installed": [{"versions": 1}, {"require": [{"pkg": "b"}]}]}},
        {"a": {"pkg.installed": ["version", {"require": [{"pkg": "b"}]}]}},
        {"b": {"pkg.installed": [{"version": 1}, {"require": [{"pkg": "b"}]}]}},
        {"a": {"pkg.installed": [{"version": 1}, {"name": "x"}, {"require": [{"pkg": "b"}]}]}},
    ):
        assert shape_of(different).digest != shape_of(one).digest
    assert shape_of({"include": ["x"]}).digest != shape_of({"include": ["y"]}).digest


def test_shapes_that_are_forgotten_are_found_again(monkeypatch):
    monkeypatch.setattr(shapes, "_MOST", 20)
    monkeypatch.setattr(shapes, "_MOST_SLS", 10)
    trees = [{f"s{number}": {"test.nop": [{"v": number}]}} for number in range(40)]
    first = [shape_of(tree) for tree in trees]
    assert len(shapes._known_sls) <= 10
    assert len(shapes._known) <= 20
    shapes.forget_oldest_shapes()
    assert [shape_of(tree) for tree in trees] == first
    assert shape_of(trees[-1]) is shape_of(trees[-1])


def test_holes_tell_when_they_are_looked_at():
    made, placeholders = with_placeholders({"a": {"test.nop": [{"v": 1}, {"order": 1}, "more"]}}, 0)
    [placeholder] = placeholders
    assert made["a"]["test.nop"][0]["v"] is placeholder
    assert made["a"]["test.nop"][1:] == [{"order": 1}, "more"]
    assert not placeholder.looked
    for look in (
        lambda: placeholder == 1,
        lambda: placeholder == 1,
        lambda: hash(placeholder),
        lambda: bool(placeholder),
        lambda: str(placeholder),
    ):
        placeholder.looked = False
        look()
        assert placeholder.looked
    assert isinstance(placeholder, Placeholder)


def test_a_missing_source_of_one_minion_of_a_class_is_its_own():
    memo = Memo()
    tree = {"one.sls": "a:\n  file.managed:\n    - source: salt://{{ grains.own }}.txt\n", "x.txt": "x", "y.txt": "y"}
    for own in ("x", "y", "gone", "x", "gone"):
        found = compiled(tree, ("m2", own, 0), memo, LENIENT)
        assert found == compiled(tree, ("m2", own, 0), options=LENIENT)
        assert (found.ok, len(found.warnings)) == (True, own == "gone")
        assert compiled(tree, ("m2", own, 0), memo).ok == (own != "gone")
