"""Grouping as transcripts: what holds at which second, and which messages come of it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.notifications.grouping import FoundNotices, NotificationGroup, group_notices
from controller.notifications.notice import Notice
from controller.policy.notifications import NotificationRoute

ROUTE = NotificationRoute(
    receivers=("chat",), group_by=("kind",), group_wait=30, group_interval=300, repeat_interval=3600
)


def lost(minion, **more):
    return Notice(kind="minion_lost", subject=minion, title=f"{minion} is not connected", minion=minion, **more)


def drifted(minion, **more):
    return Notice(kind="minion_drifted", subject=minion, title=f"{minion} drifted", minion=minion, **more)


def finished(rollout, since=0.0):
    return Notice(kind="rollout_finished", subject=rollout, title=f"{rollout} is complete", since=since)


class Transcript:
    """Groups between looks, which are packed and unpacked as the store does it."""

    def __init__(self, *routes, fits=lambda target, minion: True, most=1000):
        self.routes, self.fits, self.most = routes or (ROUTE,), fits, most
        self.groups, self.refused, self.next_at = {}, 0, None
        self.said = []

    def at(self, now, *notices, unknown=lambda notice: False):
        """What is said at a second: `receiver action firing|resolved`."""
        found = FoundNotices(
            conditions={one.key: one for one in notices if one.ends},
            happened=tuple(one for one in notices if not one.ends),
            unknown=unknown,
        )
        grouped = group_notices(self.groups, self.routes, found, now, fits=self.fits, most=self.most)
        packed = {key: msgspec.msgpack.encode(one) for key, one in grouped.groups.items()}
        self.groups = {key: msgspec.msgpack.decode(one, type=NotificationGroup) for key, one in packed.items()}
        self.refused, self.next_at = grouped.refused, grouped.next_at
        said = [
            f"{each.group.receiver} {each.action} {','.join(one.subject for one in each.firing)}"
            f"|{','.join(one.subject for one in each.resolved)}"
            for each in grouped.flushes
        ]
        self.said += [each.id for each in grouped.flushes]
        return said


def test_what_comes_within_group_wait_is_told_together():
    scene = Transcript()
    assert scene.at(0, lost("web1")) == []
    assert scene.next_at == 30
    assert scene.at(10, lost("web1"), lost("web2")) == []
    assert scene.at(30, lost("web1"), lost("web2")) == ["chat trigger web1,web2|"]
    assert scene.at(40, lost("web1"), lost("web2")) == []
    assert scene.next_at == 30 + 3600


def test_what_is_over_before_it_was_told_is_told_to_nobody():
    scene = Transcript()
    assert scene.at(0, lost("web1")) == []
    assert scene.at(29) == []
    assert scene.groups == {}
    assert scene.at(31) == []


def test_the_end_is_told_after_group_interval_and_the_group_forgotten():
    scene = Transcript()
    scene.at(0, lost("web1"))
    assert scene.at(30, lost("web1")) == ["chat trigger web1|"]
    assert scene.at(60) == []
    assert scene.next_at == 330
    assert scene.at(330) == ["chat resolve |web1"]
    assert scene.groups == {}


def test_a_part_that_is_over_is_told_beside_what_goes_on():
    scene = Transcript()
    scene.at(0, lost("web1"), lost("web2"))
    scene.at(30, lost("web1"), lost("web2"))
    assert scene.at(400, lost("web2"), lost("web3")) == ["chat trigger web2,web3|web1"]
    assert scene.at(701) == ["chat resolve |web2,web3"]


def test_what_comes_and_goes_between_messages_is_not_told():
    scene = Transcript()
    scene.at(0, lost("web1"))
    scene.at(30, lost("web1"))
    assert scene.at(100) == []
    assert scene.at(200, lost("web1")) == []
    assert scene.at(400, lost("web1")) == []
    assert scene.next_at == 3630


def test_what_goes_on_is_told_again_after_repeat_interval():
    scene = Transcript()
    scene.at(0, lost("web1"))
    scene.at(30, lost("web1"))
    assert scene.at(3629, lost("web1")) == []
    assert scene.at(3630, lost("web1")) == ["chat trigger web1|"]
    assert scene.at(7230, lost("web1")) == ["chat trigger web1|"]
    assert len(set(scene.said)) == 3, "each message has an id of its own"


def test_an_incident_that_comes_back_is_another_with_the_same_key():
    scene = Transcript()
    scene.at(0, lost("web1"))
    scene.at(30, lost("web1"))
    before = set(scene.groups)
    scene.at(330)
    scene.at(400, lost("web1"))
    assert set(scene.groups) == before
    assert scene.at(430, lost("web1")) == ["chat trigger web1|"]
    assert len(set(scene.said)) == 3


def test_what_happens_once_is_told_once():
    scene = Transcript()
    assert scene.at(0, finished("r1")) == []
    assert scene.at(10) == []
    assert scene.at(30) == ["chat trigger r1|"]
    assert scene.groups == {}
    assert scene.at(5000) == []


def test_the_end_is_not_told_where_the_route_says_so():
    scene = Transcript(msgspec.structs.replace(ROUTE, send_resolved=False))
    scene.at(0, lost("web1"))
    scene.at(30, lost("web1"))
    assert scene.at(330) == []
    assert scene.groups == {}


def test_somebody_who_pauses_a_minion_acknowledges():
    scene = Transcript()
    scene.at(0, lost("web1"))
    assert scene.at(30, lost("web1")) == ["chat trigger web1|"]
    assert scene.at(330, lost("web1", acknowledged=True)) == ["chat acknowledge web1|"]
    assert scene.at(700, lost("web1", acknowledged=True)) == []
    assert scene.at(1000) == ["chat resolve |web1"]


def test_groups_are_by_their_labels_and_receivers():
    by_minion = msgspec.structs.replace(ROUTE, receivers=("chat", "pager"), group_by=("kind", "minion"), group_wait=0)
    scene = Transcript(by_minion)
    said = scene.at(0, lost("web1"), lost("web2"))
    assert sorted(said) == ["chat trigger web1|", "chat trigger web2|", "pager trigger web1|", "pager trigger web2|"]


def test_of_two_routes_to_one_receiver_the_first_counts():
    first = msgspec.structs.replace(ROUTE, kinds=("minion_lost",), group_wait=0)
    second = msgspec.structs.replace(ROUTE, receivers=("chat", "mail"), group_wait=0, group_by=())
    scene = Transcript(first, second)
    assert sorted(scene.at(0, lost("web1"), drifted("web2"))) == [
        "chat trigger web1|",
        "chat trigger web2|",
        "mail trigger web1,web2|",
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kinds": ("minion_d*",)}, ["chat trigger web2|"]),
        ({"severities": ("critical",)}, ["chat trigger web1|"]),
        ({"environments": ("prod*",)}, ["chat trigger web1|"]),
        ({"target": "web2"}, ["chat trigger web2|"]),
        ({"kinds": ("rollout_*",)}, []),
    ],
)
def test_a_route_takes_what_fits(change, said):
    scene = Transcript(
        msgspec.structs.replace(ROUTE, group_wait=0, **change), fits=lambda target, minion: target == minion
    )
    assert scene.at(0, lost("web1", environments=("production",)), drifted("web2", environments=("test",))) == said


def test_what_is_about_no_minion_fits_no_target():
    scene = Transcript(msgspec.structs.replace(ROUTE, group_wait=0, target="*"))
    assert scene.at(0, finished("r1")) == []


def test_what_is_not_known_yet_stays_as_it_was():
    scene = Transcript()
    scene.at(0, lost("web1"))
    scene.at(30, lost("web1"))
    assert scene.at(400, unknown=lambda notice: True) == []
    assert scene.at(800) == ["chat resolve |web1"]


def test_a_route_that_is_gone_has_its_ends_told():
    scene = Transcript()
    scene.at(0, lost("web1"))
    scene.at(30, lost("web1"))
    scene.routes = ()
    assert scene.at(330, lost("web1")) == ["chat resolve |web1"]
    assert scene.groups == {}


def test_notices_are_bounded():
    scene = Transcript(most=3)
    scene.at(0, *(lost(f"web{number}") for number in range(10)))
    assert scene.refused == 7
    assert [len(group.firing) for group in scene.groups.values()] == [3]


@given(st.lists(st.sets(st.sampled_from(["a", "b", "c"])), min_size=1, max_size=40), st.integers(1, 400))
def test_whoever_is_told_of_a_beginning_is_told_of_its_end(looks, step):
    scene, open_now = Transcript(), set()
    for number, there in enumerate([*looks, *([set()] * 700)]):
        for line in scene.at(number * step, *map(lost, sorted(there))):
            _, action, subjects = line.split(" ")
            firing, resolved = ({*each.split(",")} - {""} for each in subjects.split("|"))
            assert resolved <= open_now, "nothing ends that was not told"
            open_now = firing
            assert (action == "resolve") == (not firing)
    if step >= 2:
        assert open_now == set()
        assert scene.groups == {}
    assert len(set(scene.said)) == len(scene.said)
