"""The nouns: chunks in Salt's shape, results in the running dictionary, problems as people read them."""

from dataclasses import fields, replace

from highstate.types import Chunk, Pos, Problem, StateResult


def test_a_chunk_as_salt_prints_it():
    chunk = Chunk(state="pkg", fun="installed", id="x", name="nginx", sls="a", order=10000, arguments={"v": 1})
    low = chunk.as_salt()
    assert list(low) == ["state", "name", "__sls__", "__env__", "__id__", "v", "order", "fun"]
    assert Chunk.from_salt(low) == chunk
    assert chunk.tag == "pkg_|-x_|-nginx_|-installed"


def test_a_chunk_of_little_gets_defaults():
    chunk = Chunk.from_salt({"state": "test", "fun": "nop", "name": "n"})
    assert (chunk.id, chunk.saltenv, chunk.order) == ("n", "base", 0)


def test_a_result_in_the_running_dictionary():
    chunk = Chunk(state="test", fun="nop", id="x", name="x", sls="a")
    entry = StateResult(name="x", result=None, skipped=True, warnings=("w",)).as_salt(chunk)
    assert entry["result"] is None
    assert entry["__state_ran__"] is False
    assert entry["warnings"] == ["w"]
    assert entry["__sls__"] == "a"


def test_a_problem_reads_from_top_to_bottom():
    pos = Pos(file="a.sls", line=7, template_line=5, include_chain=("top", "a"))
    problem = Problem(message="wrong", pos=pos, excerpt="> 5 | x", hint="do this")
    assert str(problem).splitlines() == ["a.sls:5: wrong", "> 5 | x", "  included through top -> a", "  hint: do this"]
    assert str(Pos(file="a.sls")) == "a.sls"


def test_a_stamped_result_differs_in_its_stamp_alone():
    whole = StateResult(
        name="a",
        result=None,
        comment="b",
        changes={"x": 1},
        skipped=True,
        warnings=("w",),
        skip_watch=True,
        skip_req=True,
        parallel=True,
        not_convergent=True,
        ignored={"mode": "0644"},
    )
    stamp = {"start_time": "12:00:00", "duration": 2.5, "run_num": 7}
    assert all(getattr(whole, one.name) != one.default for one in fields(whole) if one.name not in stamp)
    assert whole.stamped(**stamp) == replace(whole, **stamp)
