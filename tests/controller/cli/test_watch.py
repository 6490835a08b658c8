"""`saltern status --watch` and `saltern top`, on terminals and in pipes, against an API that answers."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from rich.cells import cell_len
from terminals import Terminal, plain

from controller.cli.live.fitted_table import fitted_table
from controller.cli.live.status_frame import status_frame
from controller.cli.live.top_frame import TopFrame, events_a_second
from controller.schema.fleet.activity import ActiveRun, ActivityView
from controller.schema.minions import MinionStatus, StatusView

COMMAND = [sys.executable, "-c", "from controller.cli import main; main()"]


def on_terminal(config_dir, *words, size=(80, 24), **env):
    return Terminal(*words, env={"SALTERN_CONFIG_DIR": str(config_dir), **env}, size=size)


def test_a_status_is_drawn_and_follows_what_happens(served, config_dir):
    with on_terminal(config_dir, "status", "--watch", "3600") as screen:
        screen.wait_for("compile error")
        assert "1 Degraded" in plain(screen.text)
        served.desk.paused.add("web1")  # an event of the desk comes every few milliseconds
        screen.wait_for("Paused")
        screen.type("q")
        assert screen.end() == 0
    assert "\x1b[?1049h" in screen.text  # another screen, which is left
    assert "\x1b[?1049l" in screen.text


def test_ctrl_c_ends_it_as_other_verbs(served, config_dir):
    with on_terminal(config_dir, "status", "--watch") as screen:
        screen.wait_for("db1")
        screen.type("\x03")
        assert screen.end() == 130
    assert "Traceback" not in screen.text


def test_another_size_is_drawn_at_once(served, config_dir):
    served.desk.minions.update(dict.fromkeys((f"extra{number:03}" for number in range(50)), "Synced"))
    with on_terminal(config_dir, "status", "--watch", "3600", size=(80, 12)) as screen:
        seen = screen.wait_for("more minions")
        screen.resize(80, 80)
        screen.wait_for("extra049", after=seen)
        screen.type("q")
        assert screen.end() == 0


def test_a_controller_that_is_gone_is_told_and_tried_again(desk, serve_desk, config_dir):
    from controller.config.settings import load_settings

    settings = load_settings(config_dir)
    with on_terminal(config_dir, "status", "--watch", "0.5") as screen:
        assert screen.end() == 3  # there is none at all
    with serve_desk(desk, settings):
        screen = on_terminal(config_dir, "status", "--watch", "3600")
        screen.wait_for("db1")
    with screen:
        seen = screen.wait_for("tried again")
        desk.minions["later"] = "Synced"
        with serve_desk(desk, settings):
            screen.wait_for("later", after=seen)
            screen.type("q")
            assert screen.end() == 0


def test_a_pipe_gets_a_block_when_something_changed(served, config_dir, wait_for):
    env = {"SALTERN_CONFIG_DIR": str(config_dir), "PATH": "/usr/bin:/bin"}
    words = [*COMMAND, "status", "--watch", "0.5", "--out", "json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env) as process:
        first = json.loads(process.stdout.readline())
        assert {each["sync"] for each in first["minions"]} == {"OutOfSync", "Synced"}
        served.desk.paused.add("web1")
        second = json.loads(process.stdout.readline())  # a document a line, none for what is as it was
        assert {each["minion"]: each["sync"] for each in second["minions"]}["web1"] == "Paused"
        process.terminate()


@pytest.mark.parametrize(
    "words", [("--watch", "web*"), ("web*", "--watch"), ("--watch", "5", "web*"), ("--watch=5", "web*")]
)
def test_what_stands_behind_the_option_is_a_target_unless_it_is_a_number(words):
    from controller.cli.verbs.status import status_command

    context = status_command.make_context("status", list(words))
    assert context.params["target"] == "web*"
    assert context.params["watch"] in (2.0, 5.0)


def test_no_line_is_wider_or_lower_than_the_terminal():
    minions = [
        MinionStatus(
            minion=f"a-rather-long-name-{number}", sync="Synced", health="Healthy", connected=True, message="x" * 300
        )
        for number in range(40)
    ]
    bad = MinionStatus(minion="zz", sync="OutOfSync", health="Failed", connected=False, message="\x1b[31mred\nline")
    view = StatusView(minions=(*minions, bad), remotes=())
    for columns, lines in ((80, 24), (40, 10), (200, 60), (12, 6)):
        drawn = [plain(line) for line in status_frame(view, columns, lines)]
        assert len(drawn) <= lines
        assert all(cell_len(line) <= columns for line in drawn), (columns, drawn)
        assert not any("\n" in line for line in drawn)
    drawn = status_frame(view, 80, 24)
    assert any(line.startswith("zz") for line in drawn)  # who is not well is not what is left out
    assert any("more minions" in line for line in drawn)


def test_columns_are_left_out_where_it_is_narrow():
    rows = [("web1", "Synced", "abc1234", "a message that is long")]
    plain_style = lambda cell, part: part  # noqa: E731
    wide = fitted_table(("Minion", "Sync", "Applied", "Message"), rows, (80, 5), plain_style, droppable=(2, 1))
    narrow = fitted_table(("Minion", "Sync", "Applied", "Message"), rows, (34, 5), plain_style, droppable=(2, 1))
    assert "abc1234" in wide[1]
    assert narrow[0].split() == ["Minion", "Sync", "Message"]
    assert narrow[1].endswith("…")


def activity(at, events, runs=()):
    return ActivityView(
        at=at, events=events, accepted=9, connected=8, runs=runs, open_runs=len(runs) + 70, queue=2, compiling=3,
        compile_queue=4, rollouts=(), slowest=(),
    )  # fmt: skip


def test_top_shows_runs_with_their_age_and_the_rate_of_events():
    run = ActiveRun(
        run_id="20261127000000000001", minion="web1", kind="apply", state="started", created=90.0, done=3, total=6,
        text="3/6 nginx (pkg.installed)", connected=True,
    )  # fmt: skip
    frame = TopFrame()
    assert "events a second" not in "\n".join(frame(activity(100.0, 50), 80, 24))
    shown = "\n".join(frame(activity(110.0, 150, (run,)), 100, 24))
    assert "10.0 events a second" in shown
    assert "[#####-----] 3/6 nginx" in shown
    assert "20s" in shown
    assert "and 70 more runs" in shown
    assert all(cell_len(line) <= 40 for line in frame(activity(110.0, 150, (run,)), 40, 24))
    assert events_a_second(activity(1.0, 100), activity(2.0, 5)) is None  # another controller


def test_top_once_and_as_a_document(served, saltern):
    done = saltern("top", "--once")
    assert done.code == 0
    assert "2 of 3 minions connected" in done.out
    assert "web1" in done.out
    found = json.loads(saltern("top", "--out", "json").out)
    assert found["open_runs"] == 1
    refused = saltern("top")
    assert refused.code == 64
    assert "--once" in refused.err


def test_top_is_drawn(served, config_dir):
    with on_terminal(config_dir, "top") as screen:
        screen.wait_for("events a second")
        assert "[#####-----] 3/6" in plain(screen.text)
        screen.type("q")
        assert screen.end() == 0
