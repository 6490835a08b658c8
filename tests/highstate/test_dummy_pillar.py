"""The pillar as strangers see it."""

from hypothesis import given
from hypothesis import strategies as st

from highstate.compile import CompileOptions, compile_minion
from highstate.dummy_pillar import DummyPillar
from highstate.dummy_ports import dummy_ports
from highstate.files import MemoryFiles
from highstate.types import Minion, Pos, Problem

DUMMIES = DummyPillar(key=b"key", public=("role", "apps:*:port"))
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
PILLARS = st.dictionaries(
    st.text(), st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
)


def shape(value):
    """Types, keys and how many there are of a list."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    return [shape(each) for each in value] if isinstance(value, list) else type(value)


def leaves(value):
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from leaves(each)
    else:
        yield value


@given(PILLARS)
def test_the_shape_stays_and_no_value_does(pillar):
    seen = DummyPillar(key=b"key").seen(pillar)
    assert shape(seen) == shape(pillar)
    for one in leaves(seen):
        assert one is None or one is True or isinstance(one, int | float) or len(one) == len("dummy-") + 12


@given(st.text(), st.text(), st.text(), st.text())
def test_equal_values_of_a_key_are_equal_and_others_differ(one, other, name, another):
    def seen(key, value):
        return DUMMIES.seen({"x" + key: value})["x" + key]

    assert (seen(name, one) == seen(name, other)) == (one == other)
    assert (seen(name, one) == seen(another, one)) == (name == another), "no two keys are compared"
    assert seen(name, one) != DummyPillar(key=b"other").seen({"x" + name: one})["x" + name]


def test_types_and_what_is_public():
    given = {
        "role": {"web": [1, "two"]},
        "apps": {"shop": {"port": 80, "password": "hunter2", "tls": False}, "blog": {"port": "81"}},
        "port": 80,
        "ratio": 0.5,
        "roles": "web",
        "nothing": None,
        "list": ["", {}, []],
        7: {8: "nine"},
    }
    seen = DUMMIES.seen(given)
    assert seen["role"] == given["role"]
    assert (seen["apps"]["shop"]["port"], seen["apps"]["blog"]) == (80, {"port": "81"})
    assert seen["apps"]["shop"]["password"].startswith("dummy-")
    assert seen["apps"]["shop"]["tls"] is True, "whichever it is"
    assert 10_000 <= seen["port"] < 30_000
    assert isinstance(seen["ratio"], float)
    assert seen["roles"].startswith("dummy-"), "a glob is of the whole name"
    assert seen["nothing"] is None
    assert seen["list"][0].startswith("dummy-"), "an empty text looks like any other"
    assert seen["list"][1:] == [{}, []]
    assert seen[7][8].startswith("dummy-")


def test_errors_about_a_pillar_that_is_not_their_own_are_not_shown():
    found = [Problem(message="hunter2", pos=Pos(file="db.sls"), excerpt="password: hunter2")]
    [shown] = DUMMIES.problems(found)
    assert "hunter2" not in str(shown)
    assert "db.sls" not in str(shown)
    assert DummyPillar(key=b"key", own=True).problems(found) == tuple(found)
    assert DUMMIES.problems([]) == ()


def test_top_file_and_states_see_dummies_and_pillar_templates_do_not():
    """What targets by a value finds nobody, and the pillar itself is rendered with what it has."""
    top = "base:\n" + "".join(
        f"  '{target}':\n  - match: compound\n  - {sls}\n"
        for target, sls in (("I@password:hunter*", "a"), ("I@password:*", "b"), ("I@role:web", "c"))
    )
    files = MemoryFiles(
        {
            "base": {
                "top.sls": top.encode(),
                "a.sls": b"a: {test.nop: []}\n",
                "b.sls": b"{{ pillar.password }}: {test.nop: [{n: {{ salt['pillar.get']('length') }}}]}\n",
                "c.sls": b"c: {test.nop: [{o: '{{ opts.pillar.password }}'}]}\n",
            }
        }
    )
    pillar = {
        "top.sls": b"base: {'*': [p]}\n",
        "p.sls": b"{% set p = 'hunter2' %}\npassword: {{ p }}\nrole: web\nlength: {{ p | length }}\n",
    }
    ports = dummy_ports((), (), DUMMIES)
    done = compile_minion(files, MemoryFiles({"base": pillar}), Minion(id="web1"), CompileOptions(), ports=ports)
    assert done.errors == ()
    assert [chunk.sls for chunk in done.lowstate] == ["b", "c"]
    assert "hunter2" not in repr(done)
    assert done.lowstate[0].id == done.pillar["password"] == done.lowstate[1].arguments["o"]
    assert done.lowstate[0].arguments["n"] >= 10_000
