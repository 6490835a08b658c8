"""Commands in comments."""

import pytest

from controller.pull_requests.commands import (
    LONGEST,
    ApplyHead,
    Approve,
    AskPreview,
    CommandRefused,
    Explain,
    Help,
    Unapply,
    command_line,
    is_command,
    parse,
)

COMMIT = "0123456789abcdef"


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("/saltern", Help()),
        ("/saltern help", Help()),
        ("/saltern preview", AskPreview()),
        ("/saltern PREVIEW web*", AskPreview(target="web*")),
        (f"/saltern preview --commit {COMMIT}", AskPreview(commit=COMMIT)),
        (f"/saltern preview web* --commit {COMMIT.upper()}", AskPreview(target="web*", commit=COMMIT)),
        ("/saltern explain web1 nginx.conf", Explain(minion="web1", state="nginx.conf")),
        ("/saltern explain web1 install the packages", Explain(minion="web1", state="install the packages")),
        ("/saltern approve", Approve()),
        ("/saltern apply", ApplyHead()),
        ("/saltern apply --canary", ApplyHead(canary=True)),
        ("/saltern unapply", Unapply()),
    ],
)
def test_parse(line, command):
    assert is_command(line)
    assert parse(line) == command


@pytest.mark.parametrize(
    "line",
    [
        "/saltern destroy",
        "/saltern preview web1 web2",
        "/saltern preview --all",
        "/saltern preview `id`",
        "/saltern explain web1",
        "/saltern explain --x y",
        "/saltern approve everything",
        "/saltern apply --force",
        "/saltern approve --commit",
        "/saltern approve --commit main",
        "/saltern explain web1 @everyone",
        "/saltern explain web1 " + "x" * LONGEST,
    ],
)
def test_refused(line):
    with pytest.raises(CommandRefused):
        parse(line)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("/saltern preview", True),
        ("  /saltern preview\r\nplease", True),
        ("/saltern", True),
        ("/salternpreview", False),
        ("please /saltern preview", False),
        ("> /saltern preview", False),
        ("look:\n/saltern preview", False),
        ("", False),
    ],
)
def test_is_command(body, expected):
    assert is_command(body) is expected


def test_recorded_line_is_cut():
    assert command_line("/saltern preview\nmore") == "/saltern preview"
    assert len(command_line("/saltern " + "x" * 100_000)) == LONGEST + 1
