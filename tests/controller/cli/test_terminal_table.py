"""Tables on terminals: nothing is wider than the terminal, nothing is lost, and words stay whole where they can."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from controller.cli.terminal_table import lines_of, wrap

HEADS = ("Time", "Minion", "Outcome", "Run", "Summary")
ROW = ("11-22 10:30:32", "web1", "changed", "20261122103030795466", "root (file.directory), app-config (file.managed)")


def plain(_, part):
    return part


def table(rows, width, heads=HEADS):
    return list(lines_of(heads, rows, width, plain))


def test_what_fits_is_one_line_a_row():
    assert [line.split("  ") for line in table([ROW], 120)[2:]] == [["11-22 10:30:32", "web1", "", "changed", *ROW[3:]]]


def test_the_last_column_is_wrapped_where_it_stands_while_there_is_room():
    head, _, first, second = table([ROW], 86)
    assert head.split() == list(HEADS)
    assert first.endswith("root (file.directory),")
    assert second.strip() == "app-config (file.managed)"
    assert second.startswith(" " * 50)


def test_cells_without_room_get_lines_below_their_row():
    assert table([ROW, ("x", "db1", "ok", "1", "")], 44) == [
        "Time            Minion  Outcome",
        "    Run  Summary",
        "─" * 31,
        "11-22 10:30:32  web1    changed",
        "    20261122103030795466",
        "    root (file.directory), app-config",
        "    (file.managed)",
        "x               db1     ok",
        "    1",
    ]


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 5, [""]),
        ("60:92:ea:44:ed", 6, ["60:92:", "ea:44:", "ed"]),
        ("/srv/states/top.sls", 12, ["/srv/states/", "top.sls"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("a b  c", 3, ["a b", "c"]),
        ("pkg-name other", 9, ["pkg-name", "other"]),
    ],
)
def test_lines_are_broken_where_one_reads_on(text, width, lines):
    assert wrap(text, width) == lines


CELL = st.text("ab0 :/,-漢", max_size=60)


@given(st.lists(st.tuples(CELL, CELL, CELL, CELL, CELL), max_size=4), st.integers(24, 120))
def test_no_line_is_wider_than_the_terminal_and_no_text_is_lost(rows, width):
    lines = table(rows, width)
    assert max(map(cell_len, lines)) <= width
    for row in rows:
        shown = "".join("".join(lines).split())
        for cell in row:
            assert set("".join(cell.split())) <= set(shown)
