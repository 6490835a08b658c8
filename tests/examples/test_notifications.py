"""examples/notifications: policy and configuration can be used, and each notice reaches who it should."""

from pathlib import Path

import jsonschema
import yaml

from controller.config.settings import load_file
from controller.notifications.grouping import FoundNotices, group_notices
from controller.notifications.notice import Notice
from controller.notifications.wording import WordBounds, worded
from controller.policy.notifications import KINDS
from controller.policy.reading import read_policy
from controller.policy.schema import json_schema
from highstate.files import MemoryFiles

FOLDER = Path(__file__).parents[2] / "examples/notifications"
TEXT = (FOLDER / "saltern.yaml").read_bytes()
POLICY = read_policy(MemoryFiles({"base": {"saltern.yaml": TEXT}})).notifications


def told(kind, minion="", environments=()):
    notice = Notice(kind=kind, subject=minion or "x", title="<!here> it", minion=minion, environments=environments)
    found = FoundNotices(
        conditions={notice.key: notice} if notice.ends else {}, happened=() if notice.ends else (notice,)
    )
    fits = lambda target, minion: minion.startswith("db")  # noqa: E731
    first = group_notices({}, POLICY.routes, found, 0.0, fits=fits, most=100)
    later = group_notices(first.groups, POLICY.routes, found, 3600.0, fits=fits, most=100)
    return {each.group.receiver: each for each in (*first.flushes, *later.flushes)}


def test_the_schema_takes_it():
    jsonschema.validate(yaml.safe_load(TEXT), json_schema())


def test_the_configuration_has_the_receivers():
    settings = load_file(FOLDER / "controller")
    assert {one.name for one in settings.receivers} == set(POLICY.receivers)


def test_who_is_told():
    assert set(told("minion_failed", "web1", ("production",))) == {"on-call", "ops-chat", "audit"}
    assert set(told("minion_failed", "db1", ("test",))) == {"ops-chat", "database-team", "audit"}
    assert set(told("rollout_finished")) == {"ops-chat", "audit", "forge"}
    assert set(told("key_pending")) == {"audit"}
    assert {kind for kind in KINDS if "audit" in told(kind)} == set(KINDS), "all that there is"


def test_the_words():
    flush = told("minion_failed", "web1")["ops-chat"]
    message, error = worded(flush, POLICY.templates["chat"], {}, WordBounds(shown=5, characters=100), "")
    assert (message.title, error) == ("[critical] <!here> it", "")
