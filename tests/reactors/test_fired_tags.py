"""The tags that there are: the table against the code that fires them, and globs that meet."""

import re
from pathlib import Path

import pytest

from reactors import tags
from reactors.fired_tags import FIRED, globs_meet, unfired

ROOT = Path(__file__).resolve().parents[2]
_TAG = re.compile(r"""publish\(\s*f?["']((?:salt|saltern)/[^"']+)["']""")
_REACTIONS = "saltern/reaction/"


def test_the_table_has_every_tag_that_the_controller_publishes():
    found = set()
    for path in (ROOT / "controller").rglob("*.py"):
        found |= {re.sub(r"\{[^}]*\}", "*", tag) for tag in _TAG.findall(path.read_text())}
    assert len(found) > 12
    lacking = [tag for tag in found if not any(globs_meet(tag, one) for one in FIRED)]
    assert [tag for tag in lacking if not tag.startswith(_REACTIONS)] == []


def test_the_table_has_the_tags_of_salt():
    made = [tags.auth("a", "pend", "f")[0], tags.key("a", "accepted", "f", "u")[0], tags.gitfs_update()[0]]
    made += [tag for tag, _ in tags.minion_start("a", "now")]
    made += [tags.presence_change([], [])[0], tags.presence([])[0], tags.job_new("1", {}, "f", [])[0]]
    made += [tags.job_return("1", "a", {})[0], tags.run_progress("1")]
    assert [tag for tag in made if unfired(tag, ())] == []


@pytest.mark.parametrize(
    ("glob", "fired", "meets"),
    [
        ("salt/job/*/ret/*", "salt/job/+/ret/+", True),
        ("salt/job/*", "salt/job/+/ret/+", True),
        ("salt/job/*/rett/*", "salt/job/+/ret/+", False),
        ("salt/minion/web1/start", "salt/minion/+/start", True),
        ("salt/minion/web[12]/start", "salt/minion/+/start", True),
        ("salt/minion/?/?/start", "salt/minion/+/start", False),
        ("*", "salt/auth", True),
        ("a*b*c", "*x*", True),
        ("abc", "a*d", False),
        ("[", "[", True),
        ("", "*", True),
        ("", "+", True),
        ("a", "", False),
    ],
)
def test_globs_that_meet(glob, fired, meets):
    assert globs_meet(glob, fired) is meets


def test_long_globs_cost_no_more_than_their_product():
    assert not globs_meet("*a" * 200 + "b", "*a" * 200 + "c")
