"""`policies` of saltern.yaml: what holds for whom, and what is refused with its line."""

import json

import jsonschema
import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from controller.policy.explain import explained
from controller.policy.ignored import expired
from controller.policy.policy import DriftPolicy, MinionPolicy, Policy, changed
from controller.policy.reading import PolicyInvalid, read_policy
from controller.policy.schema import json_schema
from highstate.files import MemoryFiles
from highstate.types import Minion
from reactors.remediation import RetryPolicy
from reactors.windows import Window

TEXT = """
apply: auto
drift: {mode: report, interval: 1h}
windows:
- {kind: deny, schedule: '0 0 24 12 *', duration: 3d}
policies:
- name: remediated
  target: '*'
  drift: {mode: remediate}
- name: production
  target: 'G@env:prod and not N@lab'
  apply: manual
  retry: {limit: 3, duration: 1m}
  windows:
  - {schedule: '0 22 * * *', duration: 2h, timezone: Europe/Berlin, manual: true}
- name: databases
  target: db*
  drift: {cron: '0 4 * * *', timezone: Europe/Berlin}
  suspend: true
"""


def tree(text):
    return MemoryFiles({"base": {"saltern.yaml": text.encode()}})


def read(text=TEXT):
    return read_policy(tree(text), {"lab": "lab*"})


def test_what_matches_is_laid_over_in_order():
    policy = read()
    web = policy.of(Minion(id="web1", grains={"env": "dev"}))
    assert web == MinionPolicy(drift=DriftPolicy(mode="remediate", interval=3600.0), windows=policy.windows)
    prod = policy.of(Minion(id="web2", grains={"env": "prod"}))
    assert (prod.apply, prod.drift.mode, prod.suspend) == ("manual", "remediate", False)
    assert prod.retry == RetryPolicy(limit=3, duration=60.0)
    assert [one.kind for one in prod.windows] == ["deny", "allow"]
    database = policy.of(Minion(id="db1", grains={"env": "prod"}))
    assert database.drift.schedule() == {"cron": "0 4 * * *", "splay": 60.0, "timezone": "Europe/Berlin"}
    assert (database.suspend, database.apply) == (True, "manual")
    assert policy.of(Minion(id="lab1", grains={"env": "prod"})).apply == "auto"


def test_an_interval_takes_the_place_of_an_earlier_cron_expression():
    base = MinionPolicy(drift=DriftPolicy(cron="0 4 * * *", timezone="UTC"))
    assert changed(base, {"drift.interval": 60.0}).drift.schedule() == {"interval": 60.0, "splay": 60.0}
    assert changed(base, {"drift.splay": 0.0}).drift.cron == "0 4 * * *"


def test_a_later_entry_takes_minions_out_of_shadow():
    policy = read("shadow: true\npolicies:\n- {name: moved, target: 'web*', shadow: false}")
    told = {each: policy.of(Minion(id=each, grains={})) for each in ("web1", "db1")}
    assert [(one.shadow, one.applies_nothing) for one in told.values()] == [(False, False), (True, True)]
    assert "shadow" not in told["web1"].drift_document()
    assert told["db1"].drift_document()["shadow"] is True, "so that a gateway knows of it"
    view = explained(policy, Minion(id="db1", grains={}), 0.0)
    assert (view.open, view.manual, view.why) == (False, False, "in shadow")


def test_a_suspension_is_not_taken_back_by_a_later_entry():
    assert changed(MinionPolicy(suspend=True), {"apply": "auto"}).suspend


@pytest.mark.parametrize(
    ("entry", "message", "hint", "line"),
    [
        ("- {name: a, target: '*', aply: manual}", "aply", "did you mean `apply`?", 2),
        ("- {name: a, target: '*', drift: {mod: report}}", "mod", "did you mean `mode`?", 2),
        ("- {name: a, target: '*'}", "the entry 'a' changes nothing", "", 2),
        ("- {target: '*', apply: manual}", "missing required field `name`", "write `- {name:", 2),
        ("- {name: a, target: 'I@role:db', apply: manual}", "asks for pillar", "", 2),
        ("- {name: a, target: 'N@nobody', apply: manual}", "there is no nodegroup 'nobody'", "", 2),
        ("- {name: a, target: 'web* and', apply: manual}", "web* and", "", 2),
        ("- {name: a, target: 'E@(', apply: manual}", "(", "", 2),
        ("- {name: a, target: '*', drift: {timezone: UTC}}", "there is no cron", "", 2),
        ("- {name: a, target: '*', windows: [{schedule: '61 * * * *', duration: 1h}]}", "cron '61", "", 2),
        ("- {name: a, target: '*', windows: [{schedule: '1 * * * *', duration: soon}]}", "'soon' is no time", "", 2),
        ("- {name: a, target: '*', windows: [{schedule: '1 * * * *'}]}", "missing required field `duration`", "", 2),
        (
            "- {name: a, target: '*', apply: manual}\n- {name: a, target: 'x', apply: auto}",
            "two entries with the name 'a'",
            "",
            3,
        ),
        ("- web*", "Expected `object`", "write `- {name:", 2),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_line(entry, message, hint, line):
    with pytest.raises(PolicyInvalid) as caught:
        read(f"policies:\n{entry}\n")
    problem = caught.value.problem
    assert message in problem.message
    assert hint in problem.hint
    assert problem.pos.line == line


def test_top_level_windows_and_retry_are_checked_too():
    for text, message in (
        ("windows: [{schedule: '61 * * * *', duration: 1h}]", "cron '61"),
        ("windows: [{schedule: '1 * * * *', duration: 1s}]", ">= 60"),
        ("retry: {factor: 0.5}", ">= 1"),
        ("retry: {duration: later}", "retry.duration: 'later' is no time"),
    ):
        with pytest.raises(PolicyInvalid, match=message):
            read(text)


def test_retries():
    retry = RetryPolicy(limit=2, duration=10.0, factor=3.0, max_duration=60.0)
    assert [retry.wait(failures) for failures in (1, 2, 3)] == [10.0, 30.0, None]
    assert RetryPolicy(limit=0).wait(1) is None
    assert [RetryPolicy().wait(failures) for failures in (1, 2, 8, 500)] == [30.0, 60.0, 3600.0, 3600.0]


def test_explain_says_which_entry_decides():
    view = explained(read(), Minion(id="db1", grains={"env": "prod"}), 0.0, "2026.1")
    said = {each.key: (each.value, each.source) for each in view.keys}
    assert view.entries == ("remediated", "production", "databases")
    assert said["apply"] == ("manual", "production (saltern.yaml:10)")
    assert said["drift.mode"] == ("remediate", "remediated (saltern.yaml:7)")
    assert said["drift.cron"] == ("0 4 * * *", "databases (saltern.yaml:16)")
    assert said["push"] == ("changed", "default")
    assert (view.open, view.manual, view.why) == (False, False, "suspended")
    assert [window.source for window in view.windows] == ["saltern.yaml", "production (saltern.yaml:10)"]
    web = explained(read(), Minion(id="web2", grains={"env": "prod"}), 0.0)
    assert (web.open, web.manual) == (False, True)
    assert "outside of allow window '0 22 * * *'" in web.why
    assert web.opens_at == 21 * 3600.0  # 22:00 in Berlin


_CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "apply": st.sampled_from(["auto", "manual"]),
        "push": st.sampled_from(["changed", "whole"]),
        "drift.mode": st.sampled_from(["report", "remediate"]),
        "drift.interval": st.floats(1, 9000),
        "retry.limit": st.integers(0, 9),
        "suspend": st.booleans(),
        "shadow": st.booleans(),
        "windows": st.just((Window(schedule="0 1 * * *", duration=60.0),)),
    },
)


@given(st.lists(_CHANGES, max_size=5))
def test_nothing_that_forbids_is_lost_and_the_last_word_counts(entries):
    found = MinionPolicy()
    for each in entries:
        found = changed(found, each)
    assert found.suspend == any(each.get("suspend", False) for each in entries)
    assert len(found.windows) == sum(len(each.get("windows", ())) for each in entries)
    for key in ("apply", "push", "shadow"):
        said = [each[key] for each in entries if key in each]
        assert getattr(found, key) == (said[-1] if said else getattr(MinionPolicy(), key))


def test_the_schema_takes_what_is_read_and_refuses_what_is_not():
    schema = json_schema()
    check = jsonschema.Draft202012Validator(schema)
    assert not list(check.iter_errors(yaml.safe_load(TEXT)))
    for wrong in ("aply: manual", "drift: {mode: heal}", "policies: [{name: a, target: '*', x: 1}]", "retry: 5"):
        assert list(check.iter_errors(yaml.safe_load(wrong))), wrong
    assert set(schema["properties"]) == set(Policy.__struct_fields__)
    json.dumps(schema)
    assert msgspec.json.decode(msgspec.json.encode(schema)) == schema


IGNORING = """
ignore_differences:
- {state: file.managed, id: /etc/app.conf, field: mode, expires: 2026-12-31, reason: until the audit}
policies:
- name: databases
  target: db*
  ignore_differences:
  - {state: pkg.*, field: version, expires: 2026-01-31}
"""
IN_MARCH = 1772366400.0


def test_ignored_differences_add_up_and_go_to_minions_with_their_documents():
    policy = read(IGNORING)
    assert policy.of(Minion(id="web1")).drift_document()["ignore"] == [
        {
            "state": "file.managed",
            "id": "/etc/app.conf",
            "field": "mode",
            "expires": "2026-12-31",
            "reason": "until the audit",
        }
    ]
    assert len(policy.of(Minion(id="db1")).drift_document()["ignore"]) == 2
    assert "ignore" not in MinionPolicy().drift_document()


def test_an_expired_one_is_told():
    policy = read(IGNORING)
    (problem,) = expired(policy, IN_MARCH)
    assert (problem.pos.line, problem.message) == (
        5,
        "ignore_differences state 'pkg.*', field 'version', until 2026-01-31 has expired: what differs is drift again",
    )
    view = explained(policy, Minion(id="db1"), IN_MARCH)
    assert [(each.field, each.expired, each.source) for each in view.ignored] == [
        ("mode", False, "saltern.yaml"),
        ("version", True, "databases (saltern.yaml:5)"),
    ]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{reason: all}", "an entry names a state, an id or a field"),
        ("{field: mode, expires: soon}", "Invalid RFC3339|Invalid date|expires"),
        ("{feild: mode}", "feild"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused(entry, message):
    for text in (
        f"ignore_differences: [{entry}]",
        f"policies: [{{name: a, target: b, ignore_differences: [{entry}]}}]",
    ):
        with pytest.raises(PolicyInvalid, match=message) as caught:
            read(text)
        assert caught.value.problem.pos.line == 1
