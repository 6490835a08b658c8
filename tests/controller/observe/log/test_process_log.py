"""The controller's log: one shape for what it says and what others log, without secrets."""

import json
import logging

import pytest
import structlog

from controller.observe.log.log_redaction import WITHHELD
from controller.observe.log.process_log import configure_log
from controller.observe.redactor import Redactor
from controller.store import Store

SECRET = "correct-horse-1"


@pytest.fixture
def redactor(tmp_path):
    """A minion has a secret."""
    with Store(f"sqlite:///{tmp_path}/store.sqlite") as store:
        store.minions.seen("web1", 1.0, grains={})
        redactor = Redactor(store, "key")
        redactor.learn({"web1": [SECRET]})
        yield redactor


@pytest.fixture
def logged(capsys):
    """A function that gives the lines since it was called last."""
    root = logging.getLogger()
    handlers, level, kept = root.handlers[:], root.level, structlog.get_config()
    yield lambda: capsys.readouterr().err.splitlines()
    root.handlers[:], root.level = handlers, level
    structlog.configure(**kept)


def test_what_others_log_has_the_same_shape(logged):
    configure_log("info", "json")
    structlog.get_logger("saltern.runs").info("run ended", run_id="1", minion="web1", seconds=0.5)
    logging.getLogger("wire.server").warning("event=refused reason=%s", "no key")
    logging.getLogger("sqlalchemy").warning("a warning of %s", "a library")
    own, ours, library = map(json.loads, logged())
    assert list(own) == ["time", "level", "at", "event", "minion", "run_id", "seconds"]
    assert (own["level"], own["at"], own["event"], own["seconds"]) == ("info", "saltern.runs", "run ended", 0.5)
    assert (ours["level"], ours["at"], ours["event"], ours["reason"]) == ("warning", "wire.server", "refused", "no key")
    assert (library["at"], library["msg"]) == ("sqlalchemy", "a warning of a library")
    assert all(each["time"].endswith("Z") for each in (own, ours, library))


def test_libraries_are_heard_from_warnings_on(logged):
    configure_log("debug", "logfmt")
    logging.getLogger("httpx").info("HTTP Request: POST https://hooks.example.org/secret-path")
    structlog.get_logger("saltern.api").debug("asked")
    (line,) = logged()
    assert "event=asked" in line


@pytest.mark.parametrize("form", ["logfmt", "json", "console"])
def test_a_traceback_is_in_one_line_and_has_no_secret(logged, redactor, form):
    configure_log("info", form, redactor)
    for fields in ({"minion": "web1"}, {}):
        try:
            raise ValueError(f"cannot use\n{SECRET}")
        except ValueError:
            structlog.get_logger("saltern.build").exception("compile failed", **fields)
    logging.getLogger("gitfs.x").error("a trace\n%s", SECRET)
    lines = logged()
    assert len(lines) == 3
    assert [line.count("<secret ") for line in lines] == [1, 1, 1]
    assert SECRET not in "\n".join(lines)


def test_an_error_of_a_minion_has_none_of_its_secrets(logged, redactor):
    configure_log("info", "json", redactor)
    log = structlog.get_logger("saltern.runs")
    log.error("run ended", minion="web1", error=f"no user {SECRET}", password="hunter2", states=[SECRET])
    (line,) = map(json.loads, logged())
    assert line["error"].startswith("no user <secret ")
    assert line["states"][0].startswith("<secret ")
    assert line["password"] == "<secret>"


def test_what_cannot_be_looked_up_at_once_is_not_shown(logged, redactor):
    later = Redactor(redactor._store, "key")  # one that has read nothing yet
    configure_log("info", "json", later)
    log = structlog.get_logger("saltern.runs")
    with later._lock:  # another thread asks the store
        log.error("run ended", minion="web1", error=SECRET, run_id="1")
    log.error("run ended", minion="web1", error=SECRET)
    first, then = map(json.loads, logged())
    assert (first["error"], first["run_id"]) == (WITHHELD, "1")
    assert then["error"].startswith("<secret ")
