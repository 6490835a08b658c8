"""The option `schedule` of a controller: what is read, and what is refused with its line."""

import pytest

from options.document import parse_document
from reactors.controller_jobs import read_controller_jobs


def read(text):
    faults = []
    return read_controller_jobs(parse_document(text, "c").get("schedule"), faults), [str(fault) for fault in faults]


def test_runners_and_functions_on_minions():
    text = """
schedule:
  enabled: true
  report: {function: manage.status, minutes: 10, missed: true}
  highstate: {function: state.apply, args: [web], target: [web1, web2], cron: '0 4 * * *', metadata: {why: nightly}}
"""
    found, faults = read(text)
    assert not faults
    report, highstate = found.jobs["report"], found.jobs["highstate"]
    assert (report.target, report.missed, report.is_interval, report.each_start) == ("", True, True, False)
    assert (highstate.target, highstate.tgt_type, highstate.is_interval) == ("web1,web2", "list", False)
    assert (highstate.job.args, highstate.job.metadata) == (("web",), {"why": "nightly"})
    assert highstate.place == "c:5"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("schedule: [x]", "c:1: schedule must be a mapping"),
        ("schedule:\n  a: {function: x.y}", "c:2: schedule: a: it says no time"),
        ("schedule:\n  a: {seconds: 5}", "c:2: schedule: a: it names no function"),
        ("schedule:\n  a: {function: x.y, seconds: 5, cron: '* * * * *'}", "exclude each other"),
        ("schedule:\n  a: {function: x.y, cron: '99 * * * *'}", "c:2: schedule: a: cron"),
        ("schedule:\n  a:\n    function: x.y\n    secnds: 5", "c:4: schedule: a has no option 'secnds'; did you mean"),
        (
            "schedule:\n  a: {function: x.y, hours: 1, timezone: Nowhere}",
            "c:2: schedule: a: timezone: there is no 'Nowhere'",
        ),
        ("schedule:\n  skip_function: test.ping", "c:2: schedule: skip_function is of minions"),
        (
            "schedule:\n  a:\n    function: x.y\n    hours: 1\n    return_job: false",
            "c:5: schedule: a: return_job is of",
        ),
        ("schedule:\n  a: {function: x.y, hours: 1, returner: {a: b}}", "c:2: schedule: a: returner is a name"),
        ("schedule:\n  a: 7", "c:2: schedule: a: a job is a mapping"),
    ],
)
def test_what_is_badly_formed_is_told_with_its_line(text, why):
    _, faults = read(text)
    assert any(why in fault for fault in faults), faults
