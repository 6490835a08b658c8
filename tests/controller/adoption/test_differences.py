"""What a machine has otherwise than a state asks, value by value; and answers of a minion that are none."""

import pytest

from controller.adoption.differences import differences
from controller.adoption.machine_state import FileNow, PackagesNow, ServiceNow, machine_state, questions_of
from controller.adoption.refusal import NotAdopted
from highstate.types import Chunk
from wire.messages import FactAnswer


def chunk(state, fun, name="x", **arguments):
    return Chunk(state=state, fun=fun, id="one", name=name, sls="a", arguments=arguments)


def found(state, now, content=None):
    return [(each.argument, each.wanted, each.found, each.item) for each in differences(state, now, content)]


def file_now(data=b"a", user="root", group="root", mode="0644"):
    return FileNow(data=data, user=user, group=group, mode=mode)


def test_a_mode_is_written_as_it_was():
    for wanted, new in (("0644", "0600"), ("644", "600"), (644, 600), ("0o644", "0600")):
        assert found(chunk("file", "managed", mode=wanted), file_now(mode="0600")) == [("mode", wanted, new, "")]
        assert found(chunk("file", "managed", mode=wanted), file_now()) == []
    assert found(chunk("file", "managed", mode="keep"), file_now(mode="0600")) == []
    assert found(chunk("file", "managed", mode="4755"), file_now(mode="2755")) == [("mode", "4755", "2755", "")]


def test_owners_by_name_and_content():
    state = chunk("file", "managed", user="www", group="0")
    assert found(state, file_now(b"b"), b"a") == [("content", b"a", b"b", ""), ("user", "www", "root", "")]
    assert found(state, file_now(b"b", user="www")) == [], "the state writes no content, and asks for a number"


def test_versions():
    one = chunk("pkg", "installed", version="1")
    assert found(one, PackagesNow(versions={"x": "2"})) == [("version", "1", "2", "")]
    assert found(one, PackagesNow(versions={"x": "1"})) == []
    several = chunk("pkg", "installed", pkgs=[{"a": 1}, "b", {"c": "3"}])
    assert found(several, PackagesNow(versions={"a": "2", "b": "9", "c": "3"})) == [("version", "1", "2", "a")]
    with pytest.raises(NotAdopted, match="b is not installed"):
        found(several, PackagesNow(versions={"a": "1", "b": "", "c": "3"}))
    for version in ("1.*", ">1", "latest", "1|2", "~1"):
        with pytest.raises(NotAdopted, match="no single version"):
            found(chunk("pkg", "installed", version=version), PackagesNow(versions={"x": "2"}))


@pytest.mark.parametrize(
    ("fun", "enable", "running", "enabled", "wanted"),
    [
        ("running", None, True, False, []),
        ("running", None, False, False, [("function", "running", "dead", "")]),
        ("dead", None, True, True, [("function", "dead", "running", "")]),
        ("running", True, True, False, [("enable", True, False, "")]),
        ("dead", False, True, True, [("function", "dead", "running", ""), ("enable", False, True, "")]),
        ("enabled", None, False, False, [("function", "enabled", "disabled", "")]),
        ("disabled", None, True, True, [("function", "disabled", "enabled", "")]),
        ("enabled", None, False, True, []),
    ],
)
def test_services(fun, enable, running, enabled, wanted):
    state = chunk("service", fun) if enable is None else chunk("service", fun, enable=enable)
    assert found(state, ServiceNow(running=running, enabled=enabled)) == wanted


@pytest.mark.parametrize(
    ("state", "values"),
    [
        (chunk("file", "managed"), ["text"]),
        (chunk("file", "managed"), [{"data": b"a", "user": 0, "group": "g", "mode": "0644"}]),
        (chunk("pkg", "installed"), [{"x": "1"}]),
        (chunk("pkg", "installed", pkgs=["a", "b"]), ["1", None]),
        (chunk("service", "running"), [True, "yes"]),
        (chunk("service", "running"), [1, 0]),
    ],
)
def test_a_minion_may_answer_anything(state, values):
    queries = questions_of(state, 1000)
    answers = {query: FactAnswer(value=value) for query, value in zip(queries, values, strict=True)}
    with pytest.raises(NotAdopted, match="cannot be understood"):
        machine_state(state, queries, answers)
    with pytest.raises(NotAdopted, match="does not answer"):
        machine_state(state, queries, {})


def test_what_cannot_be_adopted_is_not_asked_for():
    for state in (chunk("cmd", "run"), chunk("file", "directory"), chunk("service", "masked"), chunk("pkg", "latest")):
        with pytest.raises(NotAdopted, match="cannot be adopted"):
            questions_of(state, 1000)
    with pytest.raises(NotAdopted, match="names 51 packages"):
        questions_of(chunk("pkg", "installed", pkgs=[f"p{number}" for number in range(51)]), 1000)
    with pytest.raises(NotAdopted, match="names 0 packages"):
        questions_of(chunk("pkg", "installed", pkgs=[]), 1000)
