"""Options of returners: what is not known, or cannot do what is asked, is refused with a hint."""

import pytest

from controller.config.returners import ReturnerSettings
from controller.config.settings import BadControllerSettings, load_settings
from controller.returners.entries import ended_run, takes_event


@pytest.fixture
def load(tmp_path):
    def load(text):
        (tmp_path / "controller").write_text(text)
        return load_settings(tmp_path).returners

    return load


def test_options_are_read(load):
    found = load("event_return: pgjsonb\nmaster_job_cache: redis\nredis.host: r\nreturner.pgjsonb: {host: d}\n")
    assert (found.event_return, found.job_caches) == (("pgjsonb",), ("redis",))
    assert found.opts == {"redis.host": "r", "returner.pgjsonb": {"host": "d"}}
    assert load("master_job_cache: local_cache\n") == ReturnerSettings()
    assert load("master_job_cache: redis\next_job_cache: pgjsonb\n").job_caches == ("pgjsonb", "redis")
    assert load("master_job_cache: redis\next_job_cache: redis\n").job_caches == ("redis",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("event_return: [pgjsonbb]", "event_return: no returner 'pgjsonbb' takes events"),
        ("event_return: [redis]", "event_return: no returner 'redis' takes events"),
        ("master_job_cache: syslog", "master_job_cache: no returner 'syslog' keeps jobs"),
        ("ext_job_cache: smtp", "ext_job_cache: no returner 'smtp' keeps jobs"),
    ],
)
def test_what_cannot_be_done_is_refused(load, text, said):
    with pytest.raises(BadControllerSettings, match=said):
        load(text + "\n")


def test_the_blacklist_counts_more():
    settings = ReturnerSettings(
        event_return=("webhook",), whitelist=("a/*",), blacklist=("a/b",), job_caches=("redis",)
    )
    assert [takes_event(settings, tag) for tag in ("a/c", "a/b", "b", "saltern/returner/x/failing")] == [
        True, False, False, False,
    ]  # fmt: skip
    assert ended_run(settings, "salt/job/1/ret/web1", {}) == "1"
    assert ended_run(settings, "salt/run/2/ret", {}) == "2"
    assert not ended_run(settings, "salt/job/1/new", {})
    alone = ReturnerSettings()
    assert not ended_run(alone, "salt/job/1/ret/web1", {})
    assert ended_run(alone, "salt/job/1/ret/web1", {"ret": "redis"}) == "1"


def test_options_of_salts_that_change_nothing_are_told(tmp_path):
    (tmp_path / "controller").write_text("event_return: syslog\nevent_return_queue: 10\n")
    [note] = load_settings(tmp_path).notes
    assert "controller:2: event_return_queue: it means nothing here: events go to returners as they come" in note
