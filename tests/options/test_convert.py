"""Options are converted by the types of fields, and a fault says where and what is wanted."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from options import kinds
from options.convert import Unwanted, convert_options, convert_value, kinds_of
from options.document import UnreadableDocument, merge_options, parse_document, read_config_text, read_document


@dataclass(frozen=True, kw_only=True)
class Example:
    port: kinds.PortNumber = 1
    names: kinds.Names = ()
    how: Literal["a", "b"] = "a"
    token: kinds.OptionText = ""


@pytest.mark.parametrize(
    ("value", "kind", "found"),
    [
        (5, kinds.Seconds, 5.0),
        (0, kinds.SecondsOrNever, 0.0),
        ("/a", kinds.Folder, "/a"),
        ("/a", Path, Path("/a")),
        ("one", kinds.Names, ("one",)),
        (7, kinds.OptionText, "7"),
        (None, kinds.OptionText | None, None),
        (None, kinds.OptionalText, ""),
        (1, kinds.Fraction, 1.0),
        ({"a": [1]}, kinds.TextMapping, {"a": [1]}),
    ],
)
def test_what_yaml_gives_becomes_the_type(value, kind, found):
    assert convert_value(value, kind) == found


@pytest.mark.parametrize(
    ("value", "kind", "wanted"),
    [
        (True, kinds.PortNumber, "a port"),
        ("5", kinds.PortNumber, "a port"),
        (0, kinds.Seconds, "above 0"),
        (True, kinds.Seconds, "above 0"),
        ("a", kinds.Folder, "absolute path"),
        ("/a\0", kinds.Folder, "absolute path"),
        (True, kinds.OptionText, "text"),
        (1, kinds.Flag, "True or False"),
        ({1: 2}, kinds.TextMapping, "a mapping"),
        ("c", Literal["a", "b"], "one of a, b"),
        (1.5, int, "a whole number"),
        ({"a": ["b"]}, Mapping[str, tuple[int, ...]], "a whole number"),
        ("x", bool | int, "True or False or a whole number"),
        (10**400, kinds.SecondsOrNever, "seconds"),
        (10**400, float, "a number"),
        (float("nan"), kinds.Fraction, "0 to 1"),
    ],
)
def test_what_is_wanted_is_said(value, kind, wanted):
    with pytest.raises(Unwanted) as caught:
        convert_value(value, kind)
    assert wanted in caught.value.wanted


def test_every_fault_has_the_line_of_what_is_wrong_and_shows_no_secret():
    text = "port: x\nnames:\n  - a\n  - [b]\nhow: c\ntoken: [hidden]\nother: 1\n"
    faults = []
    assert convert_options(parse_document(text, "f"), kinds_of(Example), faults) == {}
    assert [str(fault) for fault in faults] == [
        "f:1: port must be a port, 0 to 65535, not 'x'",
        "f:4: names must be a list of names, not ['a', ['b']]",
        "f:5: how must be one of a, b, not 'c'",
        "f:6: token must be text, not what stands there",
    ]


@pytest.mark.parametrize("value", ["https://ada:hidden@host/states.git", "[git://hidden@host/, 5]"])
def test_no_fault_shows_who_logs_in_to_an_address(value):
    faults = []
    convert_options(parse_document(f"port: {value}\n", "f"), kinds_of(Example), faults)
    assert "://***@host/" in str(faults[0])
    assert "hidden" not in str(faults[0])


@pytest.mark.parametrize(
    ("value", "kind", "inside"),
    [
        ({"base": ["/a"], "dev": ["/b", 1]}, Mapping[str, tuple[str, ...]], ("dev", 1)),
        (["a", ["b"]], tuple[str, ...] | None, (1,)),
        ("a", tuple[str, ...], ()),
    ],
)
def test_a_fault_leads_to_the_innermost_value_that_is_wrong(value, kind, inside):
    with pytest.raises(Unwanted) as caught:
        convert_value(value, kind)
    assert caught.value.inside == inside


def test_a_minion_configuration_is_read_without_msgspec(tmp_path):
    (tmp_path / "minion").write_text("id: web1\nmaster: [a, b]\nfile_roots: {base: [/srv]}\nmine_interval: 5\n")
    text = "import sys; from minion.config.settings import load_settings as load; import pathlib\n"
    text += "print(load(pathlib.Path(sys.argv[1])).options.mine.minutes, 'msgspec' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["5.0", "False"]


def test_places_are_those_of_the_file_that_a_value_comes_from():
    old, new = (parse_document(text, name)["m"] for text, name in (("m:\n  a: 1\n  b: 2\n", "1"), ("m: {b: 3}\n", "2")))
    both = merge_options(old, new)
    assert both.value == {"a": 1, "b": 3}
    assert (both.place, both.at(("a",)), both.at(("b",)), both.at(("c", 1))) == ("2:1", "1:2", "2:1", "2:1")


def test_lists_are_joined_when_asked_for():
    old, new = (parse_document(text, "f")["m"] for text in ("m: [1, 2]", "m: [2, 3]"))
    assert merge_options(old, new).value == [2, 3]
    assert merge_options(old, new, join_lists=True).value == [1, 2, 3]


def bomb(rows):
    """Each row refers to the one before nine times."""
    lines = (f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, rows))
    return "\n".join(["a0: &a0 [1]", *lines, ""])


def test_aliases_are_walked_once_and_unfold_to_so_much():
    assert len(parse_document(bomb(6), "f")) == 6
    for text in (bomb(60), "a: &a {b: *a}\n", "a: &a {x: 1}\nb: &b {<<: [*a, *b]}\n"):
        with pytest.raises(UnreadableDocument, match=r"^f:\d+: is no YAML: (its aliases unfold|an alias stands)"):
            parse_document(text, "f")


@pytest.mark.parametrize(
    "text", ["[" * 200_000, "a: " + "{a: " * 200_000, "- " * 200_000, "a: " + "[" * 700 + "]" * 700]
)
def test_what_is_nested_deeply_ends_no_process(text):
    with pytest.raises(UnreadableDocument, match=r"^f(:\d+)?: .*nested too deeply"):
        parse_document(text, "f")


def test_a_fault_of_yaml_has_its_place_and_a_next_step():
    with pytest.raises(UnreadableDocument) as raised:
        parse_document("a: 1\nb: x: y\n", "f")
    assert str(raised.value) == (
        "f:2: is no YAML: mapping values are not allowed in this context (column 5); mend the line, or the one before "
        "it: quote texts with `: `, `#`, `{` or `%`, and indent with spaces"
    )


@pytest.fixture
def made(tmp_path):
    """Makes what may lie in the place of a configuration file."""

    def make(kind):
        path = tmp_path / "x.conf"
        match kind:
            case "a fifo":
                os.mkfifo(path)
            case "a device":
                path.symlink_to("/dev/zero")
            case "a socket":
                with socket.socket(socket.AF_UNIX) as listener:
                    listener.bind(str(path))
            case "a folder":
                path.mkdir()
            case "more than":
                with path.open("wb") as file:
                    file.truncate(8 << 30)  # no block of it is on the disk
            case "cannot be read":
                path.symlink_to(tmp_path / "none")
        return path

    return make


@pytest.mark.parametrize("kind", ["a fifo", "a device", "a socket", "a folder", "more than", "cannot be read"])
def test_what_is_no_file_is_refused_at_once(made, kind):
    path = made(kind)
    with pytest.raises(UnreadableDocument, match=rf"^{path}: .*({kind}|such device)"):
        read_document(path)
    with pytest.raises(UnreadableDocument, match=rf"^f:3: {path} .*({kind}|such device)"):
        read_config_text(path, "f:3")


@pytest.mark.parametrize(
    "text", ["- a\n", "a: [\n", "a: 1\na: 2\n", "1: 2\n", "a: !!python/object/apply:os.system [x]\n"]
)
def test_what_holds_no_options(text):
    with pytest.raises(UnreadableDocument, match=r"^f:"):
        parse_document(text, "f")
