"""Which controller is followed, when another is tried, and when the minion goes back. The clock is the test's."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from minion.agent.controllers.addresses import known_controllers
from minion.agent.controllers.failover import ROUND_PAUSES
from minion.agent.controllers.link import ControllerLink, LinkPorts
from minion.agent.controllers.links import ADMISSION_SECONDS, BUSY_SECONDS, FAILBACK_SECONDS, ControllerLinks
from minion.config.settings import load_settings
from wire.client import Connected, DialFailed, Disconnected, HandshakeFailed
from wire.keys import load_or_create
from wire.messages import Hello, HelloAck, KeepAlive, KeyRequest, KeyState, RotateKey

NAMES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
FIRST, SECOND, THIRD = NAMES
ACCEPTED = KeyState(state="accepted")
WELCOME = HelloAck(epoch="e", alive_interval=15.0)


def no_child(task):
    raise OSError("nobody looks for a cause within a test")


class Scene:
    """Links of a minion. Nobody listens, and nothing is polled: what happens is what the test says."""

    def __init__(self, settings):
        self.busy = False
        self.links = ControllerLinks(
            [
                ControllerLink(
                    known,
                    settings,
                    LinkPorts(
                        key_request=lambda accepted: KeyRequest(id="web1"),
                        hello=lambda name: Hello(id="web1", grains={}, follows=self.links.may_follow(name)),
                        keep_alive=lambda name: KeepAlive(),
                        fork=no_child,
                    ),
                )
                for known in known_controllers(settings)
            ],
            settings,
            lambda: self.busy,
        )

    def happens(self, name, *events, now=0.0):
        link = self.links.named(name)
        for event in events:
            link.take(event, now)
            if isinstance(event, HelloAck):
                self.links.came_online(link, now)

    def comes_online(self, *names, now=0.0):
        for name in names:
            self.happens(name, Connected(), ACCEPTED, WELCOME, now=now)

    def open(self):
        return [link.name for link in self.links.links if link.connection is not None]

    def followed(self):
        authority = self.links.authority
        return None if authority is None else authority.name

    def fails(self, name, now=0.0):
        """The dial of one comes to nothing; what is open then."""
        self.happens(name, DialFailed(), now=now)
        self.links.look(now)
        self.links.look(now)
        return self.open()


@pytest.fixture
def scene(tmp_path):
    made = []

    def make(**changed):
        keys = {name: load_or_create(tmp_path / name).public for name in NAMES}
        given = {"id": "web1", "master": [*NAMES], "controller_key": keys, "root_dir": str(tmp_path / "root")}
        (tmp_path / "minion").write_text(json.dumps(given | changed))
        made.append(Scene(load_settings(tmp_path)))
        made[-1].links.start(0.0)
        return made[-1]

    yield make
    for each in made:
        each.links.stop()


@pytest.fixture
def one_at_a_time(scene):
    return lambda **changed: scene(master_type="failover", **changed)


@pytest.fixture
def at_once(scene):
    return lambda **changed: scene(master_type="str", **changed)


# --- connected to all


def test_the_first_of_the_list_that_is_online_is_followed(at_once):
    each = at_once()
    assert each.open() == [*NAMES]
    assert each.followed() is None
    told = []
    for name in (THIRD, FIRST, SECOND):
        each.comes_online(name)
        told.append((each.followed(), each.links.named(name).follows))
    assert told == [(THIRD, True), (FIRST, True), (FIRST, False)]
    each.happens(FIRST, Disconnected())
    assert each.followed() == SECOND
    each.happens(SECOND, Disconnected())
    assert each.followed() == THIRD
    each.comes_online(FIRST)
    assert each.followed() == FIRST
    assert each.links.named(FIRST).follows


def test_a_controller_that_is_connected_and_has_not_let_the_minion_in_is_not_followed(at_once):
    each = at_once()
    each.comes_online(SECOND)
    each.happens(FIRST, Connected(), KeyState(state="pending"))
    assert (each.followed(), [link.name for link in each.links.online]) == (SECOND, [SECOND])
    each.happens(FIRST, ACCEPTED)
    assert each.followed() == SECOND, "its Hello is not answered"
    each.happens(FIRST, WELCOME)
    assert each.followed() == FIRST


@pytest.mark.parametrize("kind", ["str", "failover"])
def test_who_is_asked_by_name_is_asked_while_it_is_online(scene, kind):
    each = scene(master_type=kind)
    each.comes_online(FIRST)
    assert not each.links.send(KeepAlive(), SECOND)
    assert not each.links.send(KeepAlive(), "203.0.113.1"), "none of the list"
    assert each.links.origin(FIRST) == FIRST
    assert each.links.names == {*NAMES}


def test_one_controller_has_no_name_on_disk(scene, tmp_path):
    each = scene(master=FIRST, controller_key=load_or_create(tmp_path / FIRST).public)
    assert (each.links.names, each.links.origin(FIRST)) == (frozenset(), "")


def test_all_are_told_while_they_are_there(at_once):
    each = at_once()
    assert each.links.broadcast(KeepAlive()), "nobody missed it"
    each.comes_online(FIRST)
    assert not each.links.broadcast(KeepAlive()), "its queue took nothing"


# --- one at a time


def test_the_next_is_dialled_when_one_fails_and_the_list_again_after_a_pause(one_at_a_time):
    each = one_at_a_time()
    assert each.open() == [FIRST]
    assert [each.fails(name) for name in (FIRST, SECOND, THIRD)] == [[SECOND], [THIRD], []]
    assert each.links.due_at == ROUND_PAUSES[0]
    each.links.look(ROUND_PAUSES[0])
    assert each.open() == [FIRST]


def test_what_fails_is_never_a_controller_that_lets_the_minion_in(one_at_a_time):
    each = one_at_a_time()
    each.comes_online(FIRST, now=1.0)
    each.links.look(1.0 + 10 * ADMISSION_SECONDS)
    assert (each.open(), each.followed()) == ([FIRST], FIRST)


def test_a_lost_connection_is_dialled_again_before_the_next_controller(one_at_a_time):
    each = one_at_a_time()
    each.comes_online(FIRST)
    each.happens(FIRST, Disconnected(), now=50.0)
    each.links.look(50.0)
    assert (each.open(), each.followed()) == ([FIRST], None)
    each.comes_online(FIRST, now=51.0)
    each.links.look(51.0)
    assert each.followed() == FIRST
    each.happens(FIRST, Disconnected(), now=60.0)
    assert each.fails(FIRST, 60.1) == [SECOND]


@pytest.mark.parametrize(
    "events",
    [
        (),
        (Connected(),),
        (Connected(), KeyState(state="pending")),
        (Connected(), ACCEPTED),
        (HandshakeFailed(reason="it did not prove its key"),),
    ],
)
def test_who_does_not_let_the_minion_in_has_so_much_time(one_at_a_time, events):
    each = one_at_a_time()
    each.happens(FIRST, *events)
    each.links.look(ADMISSION_SECONDS - 0.1)
    assert each.open() == [FIRST]
    each.links.look(ADMISSION_SECONDS)
    each.links.look(ADMISSION_SECONDS)
    assert each.open() == [SECOND]


def test_who_comes_and_goes_does_not_begin_that_time_anew(one_at_a_time):
    """A controller that takes connections and ends them before it lets the minion in."""
    each = one_at_a_time()
    for second in range(0, int(ADMISSION_SECONDS), 5):
        each.happens(FIRST, Connected(), Disconnected(), now=float(second))
        each.links.look(float(second))
    each.links.look(ADMISSION_SECONDS)
    each.links.look(ADMISSION_SECONDS)
    assert each.open() == [SECOND]


def test_a_rejected_key_is_no_reason_to_wait(one_at_a_time):
    each = one_at_a_time()
    each.happens(FIRST, Connected(), KeyState(state="rejected"))
    each.links.look(0.0)
    each.links.look(0.0)
    assert each.open() == [SECOND]


def test_a_controller_that_takes_the_key_away_is_left(one_at_a_time):
    each = one_at_a_time()
    each.comes_online(FIRST)
    each.happens(FIRST, KeyState(state="rejected"), now=100.0)
    each.links.look(100.0)
    each.links.look(100.0)
    assert each.open() == [SECOND]


def test_an_answer_that_was_late_does_not_make_two(one_at_a_time):
    """The first is given up, and its welcome was on the way: of two that are open the newest word counts for one."""
    each = one_at_a_time()
    each.fails(FIRST)
    each.comes_online(SECOND)
    assert (each.open(), each.followed()) == ([SECOND], SECOND)
    assert [link.name for link in each.links.online] == [SECOND]


@pytest.mark.parametrize("tries", [1, 2])
def test_rounds_are_counted_until_it_is_given_up(one_at_a_time, tries):
    each = one_at_a_time(master_tries=tries)
    now = 0.0
    for _ in range(tries):
        assert each.links.gave_up() == ""
        for name in NAMES:
            each.fails(name, now)
        now += ROUND_PAUSES[-1]
        each.links.look(now)
    assert each.links.gave_up() == f"no controller in {tries} rounds (master_tries)"


# --- back to the first


@pytest.fixture
def on_the_second(one_at_a_time):
    each = one_at_a_time(master_failback=True)
    each.fails(FIRST)
    each.comes_online(SECOND)
    each.links.look(0.0)
    return each


def test_the_first_is_tried_beside_the_one_in_use_and_taken_when_it_lets_the_minion_in(on_the_second):
    each = on_the_second
    each.links.look(FAILBACK_SECONDS - 0.1)
    assert each.open() == [SECOND]
    each.links.look(FAILBACK_SECONDS)
    assert (each.open(), each.followed()) == ([FIRST, SECOND], SECOND)
    each.happens(FIRST, Connected(), ACCEPTED)
    assert each.followed() == SECOND
    each.happens(FIRST, WELCOME)
    assert (each.open(), each.followed()) == ([FIRST], FIRST)


def test_a_first_that_does_not_let_the_minion_in_costs_nothing(on_the_second):
    each = on_the_second
    each.links.look(FAILBACK_SECONDS)
    each.happens(FIRST, Connected(), KeyState(state="pending"))
    each.links.look(FAILBACK_SECONDS + ADMISSION_SECONDS)
    assert (each.open(), each.followed()) == ([SECOND], SECOND)
    again = FAILBACK_SECONDS + ADMISSION_SECONDS + FAILBACK_SECONDS
    each.links.look(again - 0.1)
    assert each.open() == [SECOND]
    each.links.look(again)
    assert each.open() == [FIRST, SECOND]


def test_while_something_runs_it_does_not_go_back(on_the_second):
    each = on_the_second
    each.busy = True
    each.links.look(FAILBACK_SECONDS)
    assert each.open() == [SECOND]
    each.busy = False
    each.links.look(FAILBACK_SECONDS + BUSY_SECONDS)
    assert each.open() == [FIRST, SECOND]


def test_what_began_while_the_first_was_tried_is_waited_for(on_the_second):
    each = on_the_second
    each.links.look(FAILBACK_SECONDS)
    each.busy = True
    each.comes_online(FIRST, now=FAILBACK_SECONDS)
    assert (each.open(), each.followed()) == ([SECOND], SECOND)
    each.busy = False
    each.links.look(FAILBACK_SECONDS + BUSY_SECONDS)
    each.comes_online(FIRST, now=FAILBACK_SECONDS + BUSY_SECONDS)
    assert (each.open(), each.followed()) == ([FIRST], FIRST)


def test_the_one_in_use_goes_while_the_first_is_tried(on_the_second):
    each = on_the_second
    each.links.look(FAILBACK_SECONDS)
    each.happens(SECOND, Disconnected(), DialFailed(), now=FAILBACK_SECONDS + 1)
    each.links.look(FAILBACK_SECONDS + 1)
    each.links.look(FAILBACK_SECONDS + 1)
    assert each.followed() is None
    assert len(each.open()) == 1, "one at a time"


# --- sessions of the others


def test_what_one_controller_says_of_keys_changes_no_other_session(at_once):
    each = at_once()
    each.comes_online(*NAMES)
    each.happens(SECOND, KeyState(state="rejected"))
    assert [link.name for link in each.links.online] == [FIRST, THIRD]
    each.happens(THIRD, RotateKey())
    keys = {link.name: link.session.fingerprint for link in each.links.links}
    assert keys[FIRST] == keys[SECOND]


def test_a_session_that_is_not_online_sends_nothing(at_once):
    each = at_once()
    each.happens(FIRST, Connected(), KeyState(state="pending"))
    assert not each.links.send(KeepAlive(), FIRST)
    assert not each.links.send(KeepAlive())


def test_controllers_of_one_key_that_share_a_store_are_a_cluster(scene, tmp_path):
    """A key that was copied is not enough: controllers of Salt's several masters know nothing of one another."""
    keys = {name: load_or_create(tmp_path / name).public for name in (FIRST, THIRD)}
    each = scene(master_type="failover", controller_key={**keys, SECOND: keys[FIRST]})
    first, second, third = each.links.links
    each.happens(FIRST, Connected(), ACCEPTED, WELCOME)
    assert each.links.cluster_of(first) == frozenset()
    each.happens(FIRST, replace(WELCOME, cluster=True))
    assert each.links.cluster_of(first) == {SECOND}
    each.happens(THIRD, Connected(), ACCEPTED, replace(WELCOME, cluster=True))
    assert each.links.cluster_of(third) == frozenset()
    assert each.links.cluster_of(second) == frozenset(), "it has not said so yet"
