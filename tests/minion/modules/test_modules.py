import os
from pathlib import Path
from typing import Any

import pytest

from minion.call.arguments import BadArgument, parse, value_of
from minion.execution import BadArguments, CallFailed, Context, Modules, UnknownFunction
from minion.execution.loader import find, names, usage


@pytest.fixture
def context() -> Context:
    return Context(
        minion_id="web1",
        opts={"own": {"key": 1}, "nodegroups": {"webs": "web*"}},
        make_grains=lambda: {"os": "Debian", "ip": ["10.0.0.1"], "deep": {"a": [{"b": 2}]}},
        make_pillar=lambda: {"port": 80, "db": {"name": "x", "empty": None}},
    )


def call(context: Context, fun: str, *args: Any, **kwargs: Any) -> Any:
    return Modules(context).call(fun, args, kwargs)


@pytest.mark.parametrize(
    ("fun", "args", "kwargs", "value"),
    [
        ("test.ping", (), {}, True),
        ("test.echo", ("x",), {}, "x"),
        ("test.arg", (1,), {"k": 2}, {"args": [1], "kwargs": {"k": 2}}),
        ("test.true", (), {}, True),
        ("grains.get", ("os",), {}, "Debian"),
        ("grains.get", ("deep:a:0:b",), {}, 2),
        ("grains.get", ("deep:a:b",), {}, 2),
        ("grains.get", ("nope",), {"default": 5}, 5),
        ("grains.item", ("os", "nope"), {}, {"os": "Debian", "nope": ""}),
        ("grains.ls", (), {}, ["deep", "ip", "os"]),
        ("grains.has_value", ("os",), {}, True),
        ("pillar.get", ("db:name",), {}, "x"),
        ("pillar.get", ("db:empty", "d"), {}, None),
        ("pillar.get", ("db:nope", "d"), {}, "d"),
        ("pillar.get", ("db", {"more": 1}), {"merge": True}, {"more": 1, "name": "x", "empty": None}),
        ("pillar.items", (), {}, {"port": 80, "db": {"name": "x", "empty": None}}),
        ("pillar.keys", ("db",), {}, ["name", "empty"]),
        ("config.get", ("own:key",), {}, 1),
        ("config.get", ("os",), {}, "Debian"),
        ("config.get", ("db:name",), {}, "x"),
        ("config.get", ("id",), {}, "web1"),
        ("match.glob", ("web*",), {}, True),
        ("match.compound", ("web1 and G@os:Debian and not I@port:81",), {}, True),
        ("match.list", ("a,b",), {}, False),
        ("cmd.run", ("echo out; echo err >&2",), {}, "out\nerr"),
        ("cmd.run_stdout", (["echo", "a b"],), {}, "a b"),
        ("cmd.run_stderr", ("echo err >&2",), {}, "err"),
        ("cmd.retcode", ("exit 4",), {}, 4),
        ("cmd.has_exec", ("sh",), {}, True),
        ("file.file_exists", ("/etc/passwd",), {}, True),
        ("file.directory_exists", ("/etc",), {}, True),
        ("file.access", ("/etc", "f"), {}, True),
    ],
)
def test_functions(context: Context, fun: str, args: Any, kwargs: Any, value: Any) -> None:
    assert call(context, fun, *args, **kwargs) == value


def test_a_pillar_that_is_missing_may_be_an_error(context: Context) -> None:
    assert call(context, "pillar.get", "nope") == ""
    context.opts = {"pillar_raise_on_missing": True}
    with pytest.raises(CallFailed, match="Pillar key not found: nope"):
        call(context, "pillar.get", "nope")
    assert call(context, "pillar.get", "nope", None) is None
    assert call(context, "pillar.get", "nope", "") == ""
    assert call(context, "pillar.get", "port") == 80


def test_a_file_is_read_from_the_tree_and_from_the_machine(context: Context, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("here\n")
    for path in (str(tmp_path / "x"), f"file://{tmp_path}/x"):
        assert call(context, "cp.get_file_str", path) == "here\n"
    assert call(context, "cp.get_file_str", str(tmp_path / "none")) == ""
    assert call(context, "cp.get_file_str", "salt://none") == ""
    with pytest.raises(CallFailed, match=r"use cp\.get_url"):
        call(context, "cp.get_file_str", "http://127.0.0.1:1/x")


def test_hosts_are_listed_with_their_comments(context: Context, tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# first\n127.0.0.1 localhost # own\n\n  #mid\n10.0.0.1 a b#x\n10.0.0.1 c\n")
    context.opts = {"hosts.file": str(file)}
    assert call(context, "hosts.list_hosts") == {
        "comment-0": ["# first"],
        "127.0.0.1": {"aliases": ["localhost"], "comment": "own"},
        "comment-1": ["#mid"],
        "10.0.0.1": {"aliases": ["a", "b", "c"], "comment": "x"},
    }
    assert call(context, "hosts.get_alias", "10.0.0.1") == ["a", "b", "c"]
    assert call(context, "hosts.get_ip", "c") == "10.0.0.1"
    assert call(context, "hosts.get_ip", "nobody") == ""


def test_the_hosts_file_is_that_of_the_configuration(context: Context, tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("127.0.0.1 localhost\n")
    context.opts = {"hosts.file": str(file)}
    assert call(context, "hosts.add_host", "10.0.0.9", "nine") is True
    assert call(context, "hosts.list_hosts")["10.0.0.9"] == {"aliases": ["nine"]}
    assert file.read_text() == "127.0.0.1 localhost\n10.0.0.9\t\tnine\n"
    context = Context(minion_id="web1", opts={"hosts.file": "relative"})
    with pytest.raises(CallFailed, match=r"hosts\.file"):
        call(context, "hosts.list_hosts")


def test_what_holds_a_comment_alone_is_text() -> None:
    assert parse(["key= #", "#", "other=a # b"])[1] == {"key": " #", "other": "a # b"}


def test_what_is_a_value_without_its_comment_is_that_value() -> None:
    words = ("a: #", "x: [1, '#']", "1 # x", "a#b", "'q' # r")
    assert parse(words)[0] == ({"a": None}, {"x": [1, "#"]}, 1, "a#b", "'q' # r")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads the shadow entries")
def test_the_shadow_entry_of_nobody_is_not_changed(context: Context) -> None:
    assert call(context, "shadow.info", "no-such-user-at-all")["passwd"] == ""
    assert call(context, "shadow.set_password", "no-such-user-at-all", "x") is False
    assert call(context, "shadow.lock_password", "no-such-user-at-all") is False
    assert call(context, "shadow.set_maxdays", "no-such-user-at-all", 5) is False


def test_a_query_that_is_a_test_asks_nobody(context: Context) -> None:
    assert call(context, "http.query", "https://host.invalid", test=True) == {}
    asked = call(context, "http.query", "gopher://host.invalid", test=True, test_url="http://127.0.0.1:1/x")
    assert asked["test"] is True
    assert "error" in asked


def test_files_that_are_looked_at(context: Context, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("hello")
    path.chmod(0o640)
    assert call(context, "file.read", str(path)) == "hello"
    assert call(context, "file.stats", str(path))["mode"] == "0640"
    assert call(context, "file.readdir", str(tmp_path)) == [".", "..", "x"]
    assert call(context, "file.get_hash", str(path), "md5") == "5d41402abc4b2a76b9719d911017c592"
    with pytest.raises(CallFailed, match="No such file"):
        call(context, "file.read", str(tmp_path / "nope"))


@pytest.mark.parametrize(
    ("fun", "said"),
    [
        ("test.pong", "Did you mean test.ping"),
        ("tset.ping", "Did you mean test?"),
        ("ping", "There is no module 'ping'"),
        ("grains.xyzzy", "There are: grains."),
        ("context.Context", "There is no module 'context'"),
        ("..os.system", "There is no module ''"),
        ("", "There is no module ''"),
    ],
)
def test_unknown_functions(context: Context, fun: str, said: str) -> None:
    with pytest.raises(UnknownFunction) as caught:
        call(context, fun)
    assert f"'{fun}' is not available." in str(caught.value)
    assert said in str(caught.value)


def test_wrong_arguments_show_the_right_ones(context: Context) -> None:
    with pytest.raises(BadArguments) as caught:
        call(context, "test.echo", 1, 2)
    assert str(caught.value).startswith("Passed invalid arguments to test.echo: ")
    assert "Usage: test.echo(text)" in str(caught.value)
    with pytest.raises(BadArguments):
        Modules(context).call("test.ping", (), {"context": 1})


def test_an_error_from_within_is_not_taken_for_wrong_arguments(context: Context) -> None:
    with pytest.raises(ValueError, match="does not appear to be"):
        call(context, "network.reverse_ip", "x")


def test_a_value_of_another_type_is_named(context: Context) -> None:
    with pytest.raises(BadArguments, match=r"arguments to test\.fib: num must be a number, not 'x'"):
        call(context, "test.fib", "x")


def test_every_function_is_described() -> None:
    for name in names():
        assert usage(name, find(name)).count("\n\n") >= 1, name
    assert {"test.ping", "state.apply", "sys.doc"} <= set(names())


def test_data_is_made_when_it_is_asked_for_and_once() -> None:
    made: list[str] = []
    context = Context(minion_id="x", make_grains=lambda: made.append("grains") or {}, make_pillar=lambda: {})  # type: ignore[func-returns-value]
    call(context, "test.ping")
    assert made == []
    call(context, "grains.items")
    call(context, "grains.items")
    assert made == ["grains"]


def test_templates_call_functions_by_name(context: Context) -> None:
    functions = Modules(context).as_functions()
    assert functions["test.echo"]("x") == "x"
    assert "test.nope" not in functions
    assert "test.ping" in functions


@pytest.mark.parametrize("test", [True, False])
def test_single_states(context: Context, tmp_path: Path, test: bool) -> None:
    path = tmp_path / "x"
    ran = call(context, "state.single", "file.managed", str(path), contents="a", test=test)
    (entry,) = ran.values()
    assert entry["changes"] == {"diff": "New file"}
    assert entry["result"] is (None if test else True)
    assert path.exists() is not test


def test_a_condition_calls_execution_functions(context: Context) -> None:
    ran = call(context, "state.single", "test.nop", "x", unless=[{"fun": "grains.has_value", "args": ["os"]}])
    assert next(iter(ran.values()))["comment"] == "unless condition is true"


def test_states_without_a_compiler_say_what_to_do(context: Context) -> None:
    with pytest.raises(CallFailed, match="--local"):
        call(context, "state.apply")


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("a", "a"),
        ("1", 1),
        ("1.5", 1.5),
        ("True", True),
        ("yes", True),
        ("None", None),
        ("", ""),
        ("[1, a]", [1, "a"]),
        ("{a: 1}", {"a": 1}),
        ("2024-01-01", "2024-01-01"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("a: b", "a: b"),
        ("- x", "- x"),
        ("#x", "#x"),
        ("/etc/x", "/etc/x"),
        ("*", "*"),
        ("'1'", "1"),
        ("a\nb", "a\nb"),
        ("text # more", "text # more"),
        ("3007.10", "3007.10"),
        ("0644", "0644"),
    ],
)
def test_words(word: str, value: Any) -> None:
    got = value_of(word)
    assert (type(got), got) == (type(value), value)


def test_keywords() -> None:
    assert parse(["x==y", "a-b.c=1"]) == (("x==y",), {"a-b.c": 1})
    assert parse(["a", "k=1", "k2=a=b", "=x", "1x=2", "e="]) == (("a", "=x", "1x=2"), {"k": 1, "k2": "a=b", "e": ""})
    with pytest.raises(BadArgument, match="is no YAML"):
        parse(["x={a: ["])
