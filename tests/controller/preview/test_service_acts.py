"""What a plan does to services: read off the documents of both sides."""

import pytest

from controller.preview.service_acts import ServiceAct, service_acts
from controller.reconcile.plan import plan
from highstate.desired import Desired, chunk_keys
from highstate.types import Chunk

CONF = ("file", "managed", "conf", {"contents": "a"})


def desired(*states, **contents):
    chunks = [
        Chunk(state=state, fun=fun, id=name, name=name, sls="x", arguments=arguments)
        for state, fun, name, arguments in states
    ]
    return Desired(chunks=chunk_keys(chunks), contents={})


def acts(old, new):
    before, after = desired(*old), desired(*new)
    return [(one.service, one.action, one.certain) for one in service_acts(plan(before, after), after.chunks)]


def changed_conf(*states):
    """The acts when the file changes, and these states stay as they are."""
    new = (*CONF[:3], {"contents": "b"})
    return acts((CONF, *states), (new, *states))


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({"watch": [{"file": "conf"}]}, [("nginx", "restart", True)]),
        ({"listen": [{"file": "conf"}]}, [("nginx", "restart", True)]),
        ({"watch_any": [{"file": "conf"}], "reload": True}, [("nginx", "reload", True)]),
        ({"watch": ["conf"], "onlyif": "test -e /x"}, [("nginx", "restart", False)]),
        ({"require": [{"file": "conf"}]}, []),
        ({"onchanges": [{"file": "conf"}]}, []),
        ({}, []),
    ],
)
def test_a_service_that_watches(arguments, wanted):
    assert changed_conf(("service", "running", "nginx", arguments)) == wanted


def test_a_service_behind_something_that_may_be_triggered():
    between = ("cmd", "wait", "make", {"watch": [{"file": "conf"}]})
    assert changed_conf(between, ("service", "running", "nginx", {"watch": [{"cmd": "make"}]})) == [
        ("nginx", "restart", False)
    ]


def test_services_that_are_new_or_turned_off():
    running, dead = ("service", "running", "nginx", {}), ("service", "dead", "nginx", {})
    assert acts((), (running,)) == [("nginx", "start", False)]
    assert acts((), (dead,)) == [("nginx", "stop", False)]
    assert acts((running,), (dead,)) == [("nginx", "stop", True)]
    assert acts((running,), ()) == [], "it is left as it is"


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("systemctl restart nginx", [("nginx", "restart")]),
        ("systemctl --no-block -q reload-or-restart php8.2-fpm.service && true", [("php8.2-fpm", "reload")]),
        ("service apache2 force-reload", [("apache2", "reload")]),
        ("/etc/init.d/cron stop; rc-service sshd restart", [("cron", "stop"), ("sshd", "restart")]),
        ("systemctl daemon-reload", []),
        ("echo restart", []),
    ],
)
def test_commands_that_name_a_service_manager(command, wanted):
    triggered = ("cmd", "run", command, {"onchanges": [{"file": "conf"}]})
    assert changed_conf(triggered) == [(*each, False) for each in wanted]
    assert acts((), (("cmd", "run", command, {}),)) == [(*each, True) for each in wanted]


def test_functions_of_services():
    new = ("module", "run", "now", {"service.restart": [{"name": "nginx"}]})
    older = ("module", "run", "service.reload", {"m_name": "nginx"})
    assert acts((), (new,)) == [("nginx", "restart", True)]
    assert acts((), (older,)) == [("nginx", "reload", True)]


def test_a_long_line_of_options_is_read_in_linear_time():
    assert acts((), (("cmd", "run", "systemctl " + "--- " * 900, {}),)) == []
    assert ServiceAct("a", "restart", True) != ServiceAct("a", "restart", False)
