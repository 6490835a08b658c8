"""What a view records, and that it behaves as the dict it stands for."""

import copy
import json

import pytest

from highstate.files import MemoryFiles
from highstate.memo.sources import ReadSources, digest_value, fresh
from highstate.memo.tracked import Recorder, TrackedMapping, place_of, plain

PILLAR = {"web": {"port": 80, "names": ["a", "b"], "tls": {"on": True}}, "n": None, 1: "one"}


@pytest.fixture
def recorder() -> Recorder:
    files = MemoryFiles({"base": {"a/b": b"x"}})
    return Recorder(ReadSources(minion_id="m1", roots={"pillar": PILLAR, "grains": {}, "opts": {}}, files=files))


@pytest.fixture
def view(recorder: Recorder) -> TrackedMapping:
    return recorder.tracked("pillar")


@pytest.mark.parametrize(
    ("look", "reads"),
    [
        (lambda v: v["web"]["port"], [("peek", ("web",)), ("peek", ("web", "port"))]),
        (lambda v: v.get("nope"), [("peek", ("nope",))]),
        (lambda v: "web" in v, [("has", (), "web")]),
        (lambda v: list(v), [("keys", ())]),
        (lambda v: len(v), [("keys", ())]),
        (lambda v: v["web"].items(), [("peek", ("web",)), ("value", ("web",))]),
        (lambda v: str(v["web"]["tls"]), [("peek", ("web",)), ("peek", ("web", "tls")), ("value", ("web", "tls"))]),
        (lambda v: v["web"]["names"], [("peek", ("web",)), ("peek", ("web", "names"))]),
    ],
)
def test_what_is_recorded(recorder, view, look, reads):
    look(view)
    assert list(recorder.reads) == [(kind, "pillar", *rest) for kind, *rest in reads]


def test_it_reads_as_the_dict(view):
    assert plain(view) == PILLAR
    assert view == PILLAR
    assert dict(view["web"]["tls"]) == {"on": True}
    assert {**view["web"]["tls"]} == {"on": True}
    assert repr(view["web"]["tls"]) == "{'on': True}"
    assert list(view.keys()) == ["web", "n", 1]
    assert view.get("n", "default") is None
    assert type(copy.deepcopy(view)) is dict
    assert copy.copy(view["web"]["tls"]) == {"on": True}
    with pytest.raises(TypeError):
        hash(view)
    with pytest.raises(KeyError):
        view["nope"]


def test_nothing_reads_past_the_record(view):
    with pytest.raises(TypeError):
        json.dumps(view)
    assert not isinstance(view, dict)


def test_changes_stay_in_this_render(recorder, view):
    view["web"]["names"].append("c")
    view["web"].update({"port": 81})
    view["new"] = view.pop("n")
    assert (view["web"]["port"], view["web"]["names"], view["new"]) == (81, ["a", "b", "c"], None)
    assert "n" not in view
    assert PILLAR == {"web": {"port": 80, "names": ["a", "b"], "tls": {"on": True}}, "n": None, 1: "one"}
    assert plain(Recorder(recorder.sources).tracked("pillar")) == PILLAR


def test_files_and_ids_are_recorded(recorder):
    assert recorder.oid("nope", "base") is None
    assert recorder.read_file("a/b", "base") == b"x"
    assert recorder.list_files("a", "base") == ["a/b"]
    assert recorder.matches_id("glob", "m*")
    assert list(recorder.reads) == [
        ("file", "base", "nope"),
        ("file", "base", "a/b"),
        ("list", "base", "a"),
        ("id", "glob", "m*"),
    ]


def test_place_of_a_view(view):
    assert place_of(view["web"]["tls"]) == "pillar['web']['tls']"


def test_digests_tell_types_and_order_apart():
    values = [1, True, 1.0, "1", None, [], {}, (), "", b"", [1], {"a": 1, "b": 2}, {"b": 2, "a": 1}, {1: 2}, {"1": 2}]
    assert len({digest_value(one) for one in values}) == len(values)
    shared = ["x" * 50]
    assert digest_value([shared, shared]) == digest_value([["x" * 50], ["x" * 50]])


def test_what_is_no_plain_data_equals_nothing():
    odd = object()
    assert digest_value(odd) != digest_value(odd)


def test_fresh_is_deep():
    value = {"a": [1, {"b": {2}}]}
    copied = fresh(value)
    assert copied == value
    assert copied["a"][1] is not value["a"][1]
    assert fresh([{"a": frozenset("x")}]) == [{"a": frozenset("x")}]
