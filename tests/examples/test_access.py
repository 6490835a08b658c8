"""The example of access does what its page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.access.decision import AskedFunction, decide_calls, decide_peer, decide_role
from controller.access.principals import Principal
from controller.config.settings import load_file

FILE = Path(__file__).parents[2] / "examples/access/controller.conf"
WEB = frozenset({"web1", "web2"})
DEVELOPER = Principal(name="dora", groups=frozenset({"developers"}))
ON_CALL = Principal(name="oskar", groups=frozenset({"oncall"}))
ADMIN = Principal(name="ada", groups=frozenset({"sysadmins"}))
BUILD = Principal(name="ci", token="1")


@pytest.fixture(scope="module")
def rules():
    return load_file(FILE).access


def select(target):
    return WEB if target == "G@role:web" else frozenset()


def may(rules, who, fun, *args, on="web1", kind="minion"):
    call = AskedFunction(kind=kind, fun=fun, args=args)
    return decide_calls(who, [call], frozenset({on}), rules, select).allowed


def test_people(rules):
    assert may(rules, DEVELOPER, "service.restart", "nginx")
    assert not may(rules, DEVELOPER, "service.restart", "nginx", on="db1")
    assert not may(rules, DEVELOPER, "service.stop", "nginx")
    assert may(rules, DEVELOPER, "pkg.version", "nginx-full")
    assert not may(rules, DEVELOPER, "pkg.version", "openssl")
    assert not may(rules, DEVELOPER, "cmd.run", "systemctl status nginx")
    assert may(rules, BUILD, "test.ping")
    assert not may(rules, BUILD, "test.version")
    assert may(rules, BUILD, "jobs.lookup_jid", kind="runner")
    assert not may(rules, BUILD, "jobs.exit_success", kind="runner")
    assert not may(rules, Principal(name="ex-dora", groups=DEVELOPER.groups), "test.ping")
    assert may(rules, ADMIN, "file.remove")
    assert not may(rules, ON_CALL, "test.ping")


def test_roles(rules):
    def has(who, role):
        return decide_role(who, role, rules).allowed

    assert has(DEVELOPER, "viewer")
    assert not has(DEVELOPER, "operator")
    assert has(ON_CALL, "operator")
    assert not has(ON_CALL, "admin")
    assert has(ADMIN, "admin")
    assert has(BUILD, "viewer")


def test_minions(rules):
    def may_ask(minion, fun, kind="minion", on=WEB):
        return decide_peer(minion, AskedFunction(kind=kind, fun=fun), frozenset(on), rules, select).allowed

    assert may_ask("proxy1", "test.ping")
    assert not may_ask("proxy1", "cmd.run")
    assert not may_ask("proxy1", "test.ping", on={"db1"})
    assert not may_ask("web1", "test.ping")
    assert may_ask("monitor", "manage.down", "runner", ())
    assert not may_ask("monitor", "manage.bootstrap", "runner", ())
