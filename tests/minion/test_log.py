"""The log of the minion's processes: one line a record, which a parser reads back, in each form."""

import io
import json
import logging
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minion.log import LineFormatter, LogShape, log_to
from minion.log_lines import fields_of, line_of, logfmt_value

FIELD = re.compile(r'([^\s="]+)=("(?:[^"\\]|\\.)*"|[^\s="]*)(?: |$)')


def parsed(line: str) -> dict[str, str]:
    """The fields of a line; an assertion where it is no logfmt."""
    fields, at = {}, 0
    while at < len(line):
        match = FIELD.match(line, at)
        assert match, f"no logfmt at {at}: {line!r}"
        assert match[1] not in fields, f"{match[1]} stands twice: {line!r}"
        fields[match[1]] = json.loads(match[2]) if match[2].startswith('"') else match[2]
        at = match.end()
    return fields


def line(message: object, *args: object, exc_info: object = None, colours: bool = False, **shape: object) -> str:
    record = logging.LogRecord("minion.x", logging.ERROR, "x.py", 1, message, args, exc_info)
    return LineFormatter(LogShape(**shape), colours=colours).format(record)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("web1", "web1"),
        ("ünï", "ünï"),
        ("a\\b", "a\\b"),
        ("", '""'),
        ("a b", '"a b"'),
        ("a=b", '"a=b"'),
        ('say "x"', '"say \\"x\\""'),
        ("c:\\a b", '"c:\\\\a b"'),
        ("one\ntwo\t", '"one\\ntwo\\t"'),
        ("\x85\u2028\x7f", '"\\u0085\\u2028\\u007f"'),
        ("\udc80", '"\\udc80"'),
        (7, "7"),
        (None, "None"),
    ],
)
def test_values(value, text):
    assert logfmt_value(value) == text


@given(st.text(), st.text(st.characters()))
def test_a_parser_reads_back_what_was_logged(one, two):
    said = line("event=x one=%s count=%s two=%s seconds=%.1f", one, 3, two, 1.25)
    assert len(said.splitlines()) == 1
    fields = parsed(said)
    assert (fields["one"], fields["two"], fields["count"], fields["seconds"]) == (one, two, "3", "1.2")


@pytest.mark.parametrize("form", ["logfmt", "json", "console"])
def test_what_is_none_is_left_out(form):
    assert "options" not in line_of({"time": "t", "level": "info", "event": "reloaded", "options": None}, form)


def test_a_value_adds_no_field():
    fields = parsed(line("event=refused message=%s", 'no event=accepted key="x"'))
    assert fields["event"] == "refused"
    assert fields["message"] == 'no event=accepted key="x"'
    assert (fields["level"], fields["at"]) == ("error", "minion.x")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", fields["time"])


def test_what_others_log_is_the_message():
    assert parsed(line("took %s of %d\n", "a b", 3))["msg"] == "took a b of 3\n"
    assert parsed(line("event=x"))["event"] == "x"
    assert parsed(line(ValueError("a = b")))["msg"] == "a = b"


def test_a_traceback_is_a_field():
    try:
        raise ValueError('it is "so"')
    except ValueError:
        fields = parsed(line("event=failed run_id=%s", "r 1", exc_info=sys.exc_info()))
    assert fields["run_id"] == "r 1"
    assert fields["traceback"].endswith('ValueError: it is "so"')


def test_json_has_the_same_fields_and_numbers_are_numbers():
    said = line("event=run_finished run_id=%s seconds=%.3f count=%d kept=%s", "r 1", 1.25, 3, True, form="json")
    assert len(said.splitlines()) == 1
    fields = json.loads(said)
    assert list(fields)[:4] == ["time", "level", "at", "event"]
    assert (fields["run_id"], fields["seconds"], fields["count"], fields["kept"]) == ("r 1", 1.25, 3, "True")
    assert json.loads(line("took %s", "a\nb", form="json"))["msg"] == "took a\nb"


def test_console_is_one_line_for_people():
    said = line("event=controller_unreachable cause=%s", "nobody\nlistens", form="console")
    assert re.fullmatch(
        r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d error    controller_unreachable  cause="nobody\\nlistens"', said
    )
    assert "\x1b" not in line("a \x1b[31mred message", form="console")
    assert line("event=x", form="console", colours=True).count("\x1b[") == 2


@pytest.mark.parametrize("form", ["logfmt", "json", "console"])
def test_each_line_says_whose_it_is_once(form):
    assert line("event=x", form=form, bound={"minion": "web1"}).count("web1") == 1
    assert line("event=x minion=%s", "web1", form=form, bound={"minion": "web1"}).count("web1") == 1


def test_what_may_not_be_shown_is_not():
    shown = lambda fields: {**fields, "error": "-"}  # noqa: E731
    assert "hunter2" not in line("event=x error=%s", "hunter2", shown=shown)


def test_a_file_has_no_colours_and_no_color_is_respected(tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shape, before = LogShape(form="console"), logging.getLogger().handlers[:]
    monkeypatch.setenv("TERM", "xterm")
    try:
        for no_colour, codes in (("", True), ("1", False)):
            monkeypatch.setenv("NO_COLOR", no_colour)
            terminal = Terminal()
            log_to(terminal, "info", tmp_path / "log", shape=shape)
            logging.getLogger("minion.x").warning("event=x")
            assert ("\x1b" in terminal.getvalue()) is codes
        assert "\x1b" not in (tmp_path / "log").read_text()
    finally:
        for handler in logging.getLogger().handlers:
            handler.close()
        logging.getLogger().handlers[:] = before


def test_a_template_without_its_arguments_is_a_fault():
    with pytest.raises(TypeError):
        fields_of("event=x a=%s", ())
    with pytest.raises(TypeError):
        fields_of("event=x", ("left",))


TEMPLATE = re.compile(r"""log\.(?:debug|info|warning|error|critical|exception)\(\s*f?(['"])(.*?)\1\s*[,)]""", re.DOTALL)


@pytest.mark.parametrize("room", ["extmods", "highstate", "minion", "reactors", "wire"])
def test_the_templates_of_the_minion_are_logfmt(room):
    for path in sorted((Path(__file__).parents[2] / room).rglob("*.py")):
        for _, template in TEMPLATE.findall(path.read_text()):
            assert parsed(template).get("event"), f"{path}: {template}"
