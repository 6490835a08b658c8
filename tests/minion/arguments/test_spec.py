"""What a signature says of a function's arguments, and how values of SLS and the command line become its types."""

import datetime
from typing import Annotated, Literal, NamedTuple, TypedDict, Unpack

import pytest

from minion.arguments import SUPPLIED, BadValues, Ignored, Unsupported, spec_of
from minion.arguments.types import (
    CommaList,
    IsTrue,
    List,
    Map,
    Mode,
    ModeOrKeep,
    NumberOrText,
    Owner,
    Pairs,
    Path,
    Seconds,
    Size,
    Texts,
    Value,
)


class _Elsewhere(TypedDict, total=False):
    win_owner: Annotated[Value, Ignored("it is for Windows")]
    selinux: Annotated[Value, Unsupported("call restorecon")]


def state(
    machine: None,
    name: str,
    *,
    text: str = "base",
    user: Owner | None = None,
    mode: Mode | None = None,
    makedirs: bool = False,
    anything: Value = None,
    functions: Annotated[object, SUPPLIED],
    **_: Unpack[_Elsewhere],
) -> None:
    """A state."""


def function(
    context: None,
    cwd: Path,
    output: Annotated[Value, Ignored("text is text")] = None,
    depth: int = 1,
    util: Annotated[Value, Unsupported("use cmd.run")] = "mount",
) -> None:
    """An execution function."""


def variadic(context: None, fun: str, *args: int, **kwargs: Value) -> None:
    """A function that passes on."""


class Ownership(NamedTuple):
    """A group of arguments."""

    user: Owner | None
    mode: Mode | None = "0644"
    selinux: Annotated[Value, Unsupported("call restorecon")] = None


def grouping(context: None, path: Path, owned: Ownership, force: bool = False, *, texts: Texts = ()) -> object:
    """A function with a group."""
    return path, owned, force, texts


def test_a_named_tuple_stands_for_its_fields():
    spec = spec_of(grouping, 1)
    assert str(spec.signature()) == "(path, user, mode='0644', selinux=None, force=False, *, texts=())"
    assert spec.order == ("path", "user", "mode", "selinux", "force")
    assert (spec.required, spec.refused) == (("path", "user"), {"selinux": "call restorecon"})
    _, keywords = spec.bind("x.y", ("/a", 0, 600), {"force": 1})
    assert grouping(None, **spec.grouped(keywords)) == ("/a", Ownership("0", "0600"), True, ())
    given = spec.convert({"path": "/a", "user": "u", "texts": "t"})
    assert spec.ungrouped(grouping)(None, **given) == ("/a", Ownership("u", "0644"), False, ("t",))
    with pytest.raises(BadValues, match="selinux is not supported"):
        spec.bind("x.y", ("/a", "u"), {"selinux": "t"})


def test_a_function_without_groups_is_called_as_it_is():
    assert spec_of(state, 2).ungrouped(state) is state


def test_a_signature_says_everything():
    spec = spec_of(state, 2)
    assert set(spec.parameters) == {"text", "user", "mode", "makedirs", "anything", "functions"}
    assert spec.ignored == {"win_owner": "it is for Windows"}
    assert spec.refused == {"selinux": "call restorecon"}
    assert (spec.required, spec.supplied, spec.takes_anything) == ((), {"functions"}, False)
    assert str(spec.signature("name")) == (
        "(name, *, text='base', user=None, mode=None, makedirs=False, anything=None, win_owner=None, selinux=None)"
    )
    assert spec_of(variadic, 1).takes_anything


def test_values_become_types():
    convert = spec_of(state, 2).convert
    assert convert({"text": 5, "user": 0, "mode": 644, "makedirs": "False", "anything": {"a": 1}}) == {
        "text": "5", "user": "0", "mode": "0644", "makedirs": True, "anything": {"a": 1},
    }  # fmt: skip
    assert convert({"text": None, "mode": None, "makedirs": None}) == {"text": "base", "mode": None, "makedirs": False}
    assert convert({"text": datetime.date(2024, 1, 2), "unknown": 1, "win_owner": "x"}) == {"text": "2024-01-02"}


def test_all_bad_values_are_named():
    with pytest.raises(BadValues) as bad:
        spec_of(state, 2).convert({"text": ["a"], "mode": "0999", "makedirs": {"a": 1}})
    assert str(bad.value) == (
        "text must be text, not a list\n"
        "mode must be octal digits, as in '0644', not '0999'\n"
        "makedirs must be true or false, not a mapping"
    )


def test_refused_arguments_are_refused_unless_they_say_nothing():
    spec = spec_of(state, 2)
    spec.check_refused("file.managed", {"selinux": {}})
    with pytest.raises(BadValues, match=r"selinux is not supported by file\.managed: call restorecon"):
        spec.check_refused("file.managed", {"selinux": {"serole": "x"}})
    spec_of(function, 1).check_refused("mount.x", {"util": "mount"})
    with pytest.raises(BadValues, match=r"use cmd\.run"):
        spec_of(function, 1).check_refused("mount.x", {"util": "other"})


def test_arguments_by_position():
    spec = spec_of(function, 1)
    assert spec.order == ("cwd", "output", "depth", "util")
    assert spec.bind("git.x", ("/a", "utf-8", "3"), {}) == ([], {"cwd": "/a", "depth": 3})
    assert spec.bind("git.x", (), {"cwd": "/a", "what": 1}) == ([], {"cwd": "/a", "what": 1})
    for args, kwargs, wrong in (
        (("/a",), {"cwd": "/b"}, "cwd given twice"),
        (("/a", 1, 2, "", 3), {}, "5 given by position, 4 taken"),
        (("/a", 1, 2, "other"), {}, "use cmd.run"),
        (("", 1, "x"), {}, "cwd must be a path, not ''\ndepth must be a number, not 'x'"),
    ):
        with pytest.raises(BadValues, match=wrong):
            spec.bind("git.x", args, kwargs)
    assert spec_of(variadic, 1).bind("x", ("f", "1", 2), {"a": "b"}) == (["f", 1, 2], {"a": "b"})
    assert spec_of(variadic, 1).bind("x", (), {"fun": "f", "a": "b"}) == ([], {"fun": "f", "a": "b"})


@pytest.mark.parametrize(
    ("declared", "good", "bad"),
    [
        (IsTrue, [("True", True), ("yes", False), (1, True), (0, False), ("2", True), (None, False)], []),
        (int, [("5", 5), (5.0, 5)], [True, "x", 1.5, [1]]),
        (Seconds, [("1.5", 1.5), (2, 2.0)], [True, "x", [1]]),
        (Size, [("10m", 10 << 20), (5, 5), ("1.5KiB", 1536)], ["x", "", "m"]),
        (Path, [("/a", "/a")], ["", 5, ["a"]]),
        (NumberOrText, [(5, "5")], [True, {}]),
        (Owner | None, [("", None), ("web", "web"), (None, None), (33, "33")], [True, ["a"]]),
        (Mode | None, [("keep", None), ("0o755", "0755"), (0, "0000"), ("4755", "4755")], [True, "u+x", "00888"]),
        (ModeOrKeep, [("keep", "keep"), (640, "0640")], ["all"]),
        (Texts, [(None, ()), ("a,b", ("a,b",)), (["a", 1], ("a", "1"))], [{"a": 1}, [["a"]]]),
        (CommaList, [(None, ()), ("a, b,", ("a", "b")), (["a,b"], ("a,b",))], [{"a": 1}]),
        (List, [(None, []), ([1], [1])], ["a", {"a": 1}]),
        (Map, [(None, {}), ({"a": 1}, {"a": 1})], ["a", [{"a": 1}]]),
        (Pairs, [(None, {}), ([{"a": 1}, {"b": 2}], {"a": 1, "b": 2})], ["a", ["a"]]),
        (Literal["a", "b"], [("a", "a")], ["c", 1]),
        (bool | Literal["full"], [(False, False), ("full", "full")], [["full"]]),
        (Literal["full"] | bool, [("full", "full"), (1, True)], [["full"]]),
        (str | Value, [(5, 5)], []),
    ],
)
def test_types(declared, good, bad):
    def taking(context, x):
        """Takes one argument."""

    taking.__annotations__["x"] = declared
    spec = spec_of(taking, 1)
    for value, wanted in good:
        assert spec.convert({"x": value}) == {"x": wanted}
    for value in bad:
        with pytest.raises(BadValues, match="x must be"):
            spec.convert({"x": value})
