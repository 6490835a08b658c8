"""A law of test=True: of random runs over a few paths, what is foretold is what happens, or is said to be not known."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from predictions import NOT_KNOWN, Low, foretold_and_done

from highstate.files import MemoryFiles
from highstate.types import StateResult
from minion.machine.machine import LocalMachine

PATHS = ("{top}/a", "{top}/b", "{top}/d", "{top}/d/a", "{top}/d/e", "{top}/d/e/f", "{top}/l")
FILES = {"base": {"one": b"one\ntwo\n", "tree/x": b"x\n", "tree/y/z": b"z\n"}}
TEXTS = ("one", "two", "three", "[s]\nk = v", "")
CONDITIONS = (
    "test -f {0}", "test -d {0}", "test ! -e {0}", "[ -L {0} ]", "grep -q one {0}", "ls {0} >/dev/null 2>&1",
    "test -f {0} && grep -q two {0}", "! test -s {0} || false", "true", "false", "cat {0} | grep -q one",
)  # fmt: skip

paths, texts = st.sampled_from(PATHS), st.sampled_from(TEXTS)
flags, modes = st.booleans(), st.sampled_from(("0600", "0644", "0755"))


def state(fun: str, **arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Low]:
    """A state of this function at one of the paths; arguments that are drawn as None are left out."""
    given_arguments = st.fixed_dictionaries(arguments).map(
        lambda drawn: {key: value for key, value in drawn.items() if value is not None}
    )
    return st.tuples(st.just(fun), paths, given_arguments)


def commands(form: str) -> st.SearchStrategy[Low]:
    return paths.map(lambda path: ("cmd.run", form.format(path), {}))


STATES = st.one_of(
    state("file.managed", contents=texts, makedirs=flags, mode=st.none() | modes, replace=flags),
    state("file.managed", source=st.just("salt://one"), makedirs=flags),
    state("file.managed", source=paths),
    state("file.append", text=texts, makedirs=flags),
    state("file.prepend", text=texts),
    state("file.replace", pattern=st.sampled_from(("one", "t.o", "^$")), repl=texts, append_if_not_found=flags),
    state("file.line", content=texts, mode=st.sampled_from(("ensure", "insert")), after=st.just("one")),
    state("file.comment", regex=st.sampled_from(("^one", "^two"))),
    state("file.uncomment", regex=st.sampled_from(("one", "two"))),
    state("file.keyvalue", key=st.just("k"), value=texts, separator=st.just(" = "), append_if_not_found=flags),
    state("file.blockreplace", content=texts, append_if_not_found=flags),
    state("file.serialize", dataset=st.just({"a": 1}), serializer=st.just("json"), merge_if_exists=flags),
    state("file.absent"),
    state("file.absent"),
    state("file.exists"),
    state("file.missing"),
    state("file.touch", makedirs=flags),
    state("file.directory", mode=st.none() | modes, makedirs=flags, clean=flags, force=flags),
    state("file.recurse", source=st.just("salt://tree"), clean=flags),
    state("file.symlink", target=paths, force=flags, makedirs=flags),
    state("file.hardlink", target=paths, force=flags),
    state("file.copy", source=paths, force=flags, makedirs=flags),
    state("file.rename", source=paths, force=flags),
    state("file.pruned"),
    state("ini.options_present", sections=st.just({"s": {"k": "w", "n": "1"}})),
    state("ini.options_absent", sections=st.just({"s": ["k"]})),
    state("ini.sections_absent", sections=st.just(["s"])),
    commands("echo two >> {0}"),
    commands("touch {0}"),
    commands("rm -rf {0}"),
    commands("mkdir -p {0}"),
    commands("true"),
)  # fmt: skip

KEPT = st.one_of(
    st.just({}),
    st.just({}),
    st.tuples(st.sampled_from(("onlyif", "unless")), st.sampled_from(CONDITIONS), paths).map(
        lambda drawn: {drawn[0]: drawn[1].format(drawn[2])}
    ),
    paths.map(lambda path: {"creates": path}),
)

RUNS = st.lists(st.tuples(STATES, KEPT).map(lambda one: (one[0][0], one[0][1], {**one[0][2], **one[1]})), max_size=10)


def placed(value: Any, top: str) -> Any:
    if isinstance(value, str):
        return value.replace("{top}", top)
    return {key: placed(one, top) for key, one in value.items()} if isinstance(value, dict) else value


def wrong(low: list[Low]) -> list[str]:
    """What test=True says wrong of the run, on a root with a few files."""
    with tempfile.TemporaryDirectory(prefix="saltern-foretold-") as folder:
        top = Path(folder, "top")
        (top / "d").mkdir(parents=True)
        (top / "a").write_text("one\n# two\n[s]\nk = v\n")
        (top / "d/a").write_text("two\n")
        machine = LocalMachine(sources_port=MemoryFiles(FILES))
        states = [(fun, placed(name, str(top)), placed(arguments, str(top))) for fun, name, arguments in low]
        found = foretold_and_done(machine, *states)
    return [
        f"{fun} {name} {arguments}: predicted {foretold}, done {done}"
        for (fun, name, arguments), (foretold, done) in zip(low, found, strict=True)
        if not is_right(fun, foretold, done)
    ]


def is_right(fun: str, foretold: StateResult, done: StateResult) -> bool:
    if fun == "cmd.run" and foretold.result is None:
        return done.result is False or bool(done.changes) or is_marked(foretold)
    if is_marked(foretold) and foretold.result is None:
        return True
    if done.result is False or foretold.result is False:
        return foretold.result is done.result is False
    return (foretold.result is None) == bool(done.changes) and foretold.changes == done.changes


def is_marked(foretold: StateResult) -> bool:
    """Whether the prediction says that something is not known."""
    return foretold.comment.startswith(NOT_KNOWN) or any("of this run" in one for one in foretold.warnings)


@settings(max_examples=examples(400), deadline=None, derandomize=True, database=None)
@given(RUNS)
def test_what_is_foretold_of_random_runs_is_what_happens(low: list[Low]) -> None:
    assert wrong(low) == []
