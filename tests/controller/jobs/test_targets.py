"""Which minions a target means, by the store alone."""

from __future__ import annotations

import contextlib

import pytest
from range_servers import range_service

from controller.jobs.range_server import RangeServer
from controller.jobs.targets import Targets
from controller.reconcile.documents import Documents
from controller.schema.errors import ServiceError
from controller.schema.targets import TargetExpression
from controller.store import Store
from highstate.targeting.match import may_ask_pillar

ACCEPTED = ("db1", "web1", "web10", "web2")


@pytest.fixture
def targets(tmp_path):
    with Store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        for number, minion in enumerate((*ACCEPTED, "rejected", "waits", "away")):
            store.keys.request(f"{number}" * 40, minion, 1.0)
            if minion != "away":  # its key is accepted, and it has never connected
                store.minions.seen(minion, 1.0, grains={"id": minion})
        for minion in (*ACCEPTED, "away"):
            store.keys.set_state(minion, "accepted", 2.0)
        store.keys.set_state("rejected", "rejected", 2.0)
        yield Targets(store=store, documents=Documents(store), nodegroups={})


@pytest.mark.parametrize(
    ("kind", "expression", "found"),
    [
        ("glob", "*", list(ACCEPTED)),
        ("glob", "web1", ["web1"]),
        ("glob", "web?", ["web1", "web2"]),
        ("glob", "[dw]*1", ["db1", "web1"]),
        ("pcre", "web1", ["web1", "web10"]),
        ("list", "web2,db1,nobody,web2", ["db1", "web2"]),
        ("list", ",".join(["db1", *(f"m{number}" for number in range(3000))]), ["db1"]),
    ],
)
def test_kinds_that_look_at_ids_alone_find_what_a_compound_finds(targets, kind, expression, found):
    assert targets.select(TargetExpression(kind=kind, expression=expression)) == found
    letter = {"glob": "", "pcre": "E@", "list": "L@"}[kind]
    assert targets.select(TargetExpression(kind="compound", expression=f"{letter}{expression}")) == found


@pytest.fixture
def ranges():
    with range_service() as service:
        service.ranges = {
            "%web": ["web1", "web2", "rejected", "waits", "nobody"],
            "%db": ["db1"],
            "%none": [],
            "%huge": [f"web{number}" for number in range(20_000)],
        }
        yield service


@pytest.mark.parametrize(
    ("kind", "expression", "found"),
    [
        ("range", "%web", ["web1", "web2"]),
        ("range", "%huge", ["web1", "web10", "web2"]),
        ("compound", "R@%web", ["web1", "web2"]),
        ("compound", "R@%web and not web2 or R@%db", ["db1", "web1"]),
        ("compound", "web* and not R@%web", ["web10"]),
        ("compound", "web* and not R@%none", ["web1", "web10", "web2"]),
        ("compound", "N@front or db1", ["db1", "web1", "web2"]),
        ("nodegroup", "front", ["web1", "web2"]),
    ],
)
async def test_ranges_mean_accepted_minions_that_the_server_names(targets, ranges, kind, expression, found):
    targets.ranges, targets.nodegroups = RangeServer(address=ranges.address), {"front": "R@%web"}
    assert await targets.find(TargetExpression(kind=kind, expression=expression)) == found


@pytest.mark.parametrize(
    ("kind", "expression", "says"),
    [
        ("range", "%nope", "NOCLUSTER"),
        ("compound", "* or R@%nope", "NOCLUSTER"),
        ("compound", "* and not R@%nope", "NOCLUSTER"),
        ("range", "%none", "no minion matches"),
        ("range", " ", "empty"),
        ("compound", "R@%web and", "missing"),
    ],
)
async def test_a_range_that_cannot_be_told_reaches_nobody(targets, ranges, kind, expression, says):
    targets.ranges = RangeServer(address=ranges.address)
    with pytest.raises(ServiceError, match=says):
        await targets.find(TargetExpression(kind=kind, expression=expression))


@pytest.mark.parametrize(("kind", "expression"), [("range", "%web"), ("compound", "* or R@%web"), ("nodegroup", "n")])
async def test_a_range_that_nobody_asks_for_is_an_error(targets, kind, expression):
    target = TargetExpression(kind=kind, expression=expression)
    targets.nodegroups = {"n": "R@%web"}
    with pytest.raises(ServiceError, match="asked of a server"):
        targets.select(target)
    targets.ranges = RangeServer(address="")
    with pytest.raises(ServiceError, match="none is configured"):
        await targets.find(target)


async def test_targets_without_ranges_ask_no_server(targets, ranges):
    targets.ranges = RangeServer(address=ranges.address)
    for kind, expression in (("glob", "R@%web*"), ("compound", "web1"), ("list", "web1,R@%web")):
        with contextlib.suppress(ServiceError):
            await targets.find(TargetExpression(kind=kind, expression=expression))
    assert ranges.asked == []


@pytest.mark.parametrize("expression", ["rejected", "waits", "away", "nobody", "web"])
@pytest.mark.parametrize("kind", ["glob", "list"])
def test_a_name_of_nobody_is_an_error(targets, kind, expression):
    with pytest.raises(ServiceError, match="no minion matches"):
        targets.select(TargetExpression(kind=kind, expression=expression))


@pytest.mark.parametrize(
    ("kind", "expression", "named"),
    [
        ("glob", "web1", True),
        ("list", "web1,web2", True),
        ("glob", "web*", False),
        ("glob", "web[12]", False),
        ("pcre", "web1", False),
        ("compound", "web1", False),
        ("list", ",".join(f"m{number}" for number in range(3000)), False),
    ],
)
def test_few_names_are_told_from_what_is_compared_with_all(targets, kind, expression, named):
    assert targets.names_minions(TargetExpression(kind=kind, expression=expression)) is named


@pytest.mark.parametrize(
    ("kind", "expression", "nodegroups", "asks"),
    [
        ("compound", "I@a:b", {}, True),
        ("compound", "web* or J/@a/b", {}, True),
        ("compound", "I\u00e9@a", {}, True),
        ("pillar_exact", "a:b", {}, True),
        ("compound", "N@front", {"front": "I@a:b"}, True),
        ("nodegroup", "front", {"front": ["web*", "or", "J@a:b"]}, True),
        ("compound", "G@a:b and E@web.*", {"front": "web*"}, False),
        ("glob", "*", {}, False),
    ],
)
def test_what_may_look_at_pillar_is_seen(kind, expression, nodegroups, asks):
    assert may_ask_pillar(kind, expression, nodegroups) == asks
