"""saltern.yaml: what it means, and that an error in it never becomes a default."""

import pytest

from controller.policy.policy import DriftPolicy, Policy, PreviewPolicy
from controller.policy.reading import PolicyInvalid, read_policy
from highstate.files import MemoryFiles
from options.durations import parse_seconds


def tree(text):
    return MemoryFiles({"base": {"saltern.yaml": text.encode()}})


def test_defaults_without_a_file():
    assert read_policy(MemoryFiles({"base": {}})) == Policy()
    assert read_policy(tree("")) == Policy()


def test_all_keys():
    text = "apply: manual\npush: whole\nmissing_source: fail_state\ndrift: {mode: remediate, interval: 2h, splay: 90}\n"
    drift = DriftPolicy(mode="remediate", interval=7200.0, splay=90.0)
    assert read_policy(tree(text)) == Policy(apply="manual", push="whole", missing_source="fail_state", drift=drift)


def test_keys_of_previews():
    text = "previews: {live: 3, max_minions: 40, forbid: [file.absent], irreversible: approve, groups: role}\n"
    previews = PreviewPolicy(live=3, max_minions=40, forbid=("file.absent",), irreversible="approve", groups="role")
    assert read_policy(tree(text)).previews == previews
    assert (previews.group_grains, PreviewPolicy().group_grains) == (("role",), ("role", "roles"))


def test_an_error_in_previews_has_its_line():
    with pytest.raises(PolicyInvalid) as caught:
        read_policy(tree("apply: auto\npreviews:\n  live: 2\n  irreversible: never\n"))
    assert caught.value.problem.pos.line == 4


def test_an_interval_of_nothing_is_no_schedule():
    assert read_policy(tree("drift: {interval: 0}")).drift.schedule() == {}


def test_a_cron_expression_takes_the_place_of_the_interval():
    schedule = read_policy(tree("drift: {cron: '0 4 * * *', splay: 5m}")).drift.schedule()
    assert schedule == {"cron": "0 4 * * *", "splay": 300.0}
    schedule = read_policy(tree("drift: {cron: '0 4 * * *', splay: 0, timezone: Asia/Tokyo}")).drift.schedule()
    assert schedule == {"cron": "0 4 * * *", "splay": 0.0, "timezone": "Asia/Tokyo"}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("drift: {cron: '61 4 * * *'}", "cron '61 4 * * *'", ""),
        ("drift: {cron: '0 4 * * *', timezone: Tokyo/Asia}", "there is no 'Tokyo/Asia' on this machine", ""),
        ("drift: {timezone: Asia/Tokyo}", "there is no cron", ""),
        ("drift: {interval: 0.1}", "interval must be", ""),
        ("aply: manual", "aply", "did you mean `apply`?"),
        ("apply: maybe", "Invalid enum value 'maybe'", "apply is auto or manual"),
        ("drift: {mode: heal}", "Invalid enum value 'heal'", "drift.mode is report or remediate"),
        ("drift: {intervall: 5}", "intervall", "did you mean `interval`?"),
        ("drift: {interval: soon}", "'soon' is no time", ""),
        ("drift: {interval: -5}", "-5 is no time", ""),
        ("missing_source: fail", "Invalid enum value 'fail'", "missing_source is refuse or fail_state"),
        ("previews: {strangers: all}", "Invalid enum value 'all'", "previews.strangers is none or restricted"),
        ("previews: {comment: twice}", "Invalid enum value", "previews.comment is update or new or hide-and-new"),
        ("previews: {forbidden: [cmd.run]}", "forbidden", "did you mean `forbid`?"),
        ("previews: {live: -1}", "`int` >= 0", ""),
        ("previews: {max_minions: 0}", "`int` >= 1", ""),
        ("previews: yes", "Expected `object`", ""),
        ("- a\n- b", "Expected `object`", "write a mapping"),
        ("apply: [", "no YAML", ""),
    ],
)
def test_errors_say_what_and_how(text, message, hint):
    with pytest.raises(PolicyInvalid) as caught:
        read_policy(tree(text))
    problem = caught.value.problem
    assert message in problem.message
    assert hint in problem.hint
    assert problem.pos.file == "saltern.yaml"


def test_yaml_errors_show_the_line():
    with pytest.raises(PolicyInvalid) as caught:
        read_policy(tree("push: changed\napply: 'auto\n"))
    assert caught.value.problem.pos.line >= 2
    assert "^" in caught.value.problem.excerpt


@pytest.mark.parametrize(("text", "seconds"), [(90, 90), ("90", 90), ("1.5m", 90), ("2h", 7200), ("1d", 86400), (0, 0)])
def test_seconds(text, seconds):
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", [True, None, "", "5 weeks", [], -1])
def test_no_seconds(text):
    with pytest.raises(ValueError):
        parse_seconds(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("push: changed\napply: maybe\n", 2),
        ("push: changed\n\naply: auto\n", 3),
        ("drift:\n  splay: 1\n  mode: heal\n", 3),
        ("drift:\n  splay: 1\n  intervall: 1\n", 3),
        ("drift:\n  mode: report\n  interval: soon\n", 3),
        ("previews:\n  apply: true\n  canary: few\n", 3),
        ("previews:\n  apply: true\n  canary: 101%\n", 3),
        ("previews:\n  apply: true\n  canary: 0\n", 3),
        ("previews:\n  apply: true\n  apply_hold: soon\n", 3),
        ("previews:\n  apply: true\n  apply_hold: 30d\n", 3),
        ("previews:\n  apply: maybe\n", 2),
    ],
)
def test_every_error_names_its_line(text, line):
    with pytest.raises(PolicyInvalid) as caught:
        read_policy(tree(text))
    problem = caught.value.problem
    assert problem.pos.line == line
    assert text.splitlines()[line - 1].strip() in problem.excerpt


TREE = {"reactor/start.sls": b"", "top.sls": b""}


def reactors_of(text):
    return read_policy(MemoryFiles({"base": {**TREE, "saltern.yaml": text.encode()}})).reactor


def test_reactors_of_the_tree():
    found = reactors_of("reactor:\n- 'salt/minion/*/start': [salt://reactor/start.sls]\n")
    assert [entry.sls for entry in found.matching("salt/minion/web1/start")] == [("salt://reactor/start.sls",)]
    assert found.entries[0].place == "saltern.yaml:2"
    assert reactors_of("reactor: []").entries == ()


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("apply: auto\nreactor:\n- a: [salt://nosuch.sls]\n", "there is no nosuch.sls in saltenv base", 3),
        ("reactor:\n- a: [/srv/x.sls]\n", "'/srv/x.sls' is no file of the tree", 2),
        ("reactor: 5\n", "reactor must be a list of tags", 1),
    ],
)
def test_reactors_that_cannot_be_used_refuse_the_revision(text, message, line):
    with pytest.raises(PolicyInvalid) as caught:
        reactors_of(text)
    assert message in caught.value.problem.message
    assert caught.value.problem.pos.line == line


def test_watch_goes_with_the_drift_schedule():
    policy = read_policy(tree("drift: {interval: 0, watch: true}"))
    assert policy.drift.schedule() == {"watch": True}
