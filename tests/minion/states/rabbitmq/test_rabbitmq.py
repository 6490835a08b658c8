"""States and functions of RabbitMQ on real brokers, with ports and folders of their own."""

import json
import os

import pytest
from rabbitmq_server import PROGRAM, RabbitmqServer, end_epmd
from rig import free_ports

from minion.execution import Context, Modules
from minion.execution.errors import CallFailed

AWKWARD = "a\"b$HOME`id`\\c'd é"
"""Debian's program hands its words to a shell."""


@pytest.fixture(scope="module")
def epmd():
    if not PROGRAM.exists():
        pytest.skip("there is no RabbitMQ")
    [port] = free_ports(1)
    yield port
    end_epmd(port)


@pytest.fixture(scope="module")
def server(epmd):
    server = RabbitmqServer("one", epmd)
    yield server
    server.close()


@pytest.fixture(autouse=True)
def _reached(server, monkeypatch):
    os.umask(0o022)  # root's programs write what the server reads as another user
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    if os.geteuid() != 0:
        monkeypatch.setenv("PATH", f"{PROGRAM.parent}:{os.environ['PATH']}")


@pytest.fixture
def call():
    modules = Modules(Context(minion_id="web1"))
    return lambda fun, *args, **kwargs: modules.call(f"rabbitmq.{fun}", args, kwargs)


# `converge` asks five times, and each question of these programs starts a virtual machine: few states a test.


def test_virtual_hosts(converge, call):
    made = converge("rabbitmq_vhost.present", AWKWARD)
    assert (made.changes, made.result) == ({"old": "", "new": AWKWARD}, True)
    assert made.comment == f'Adding vhost "{AWKWARD}" ...'
    assert sorted(call("list_vhosts")) == ["/", AWKWARD]
    assert converge("rabbitmq_vhost.absent", AWKWARD).changes == {"old": AWKWARD, "new": ""}


def test_a_user_and_what_it_may(converge, call):
    secret = "it's $HOME `id` \\ \"é"
    perms = [{"/": ["^x$", "", ".*"]}]
    made = converge("rabbitmq_user.present", AWKWARD, password=secret, tags="monitoring policymaker", perms=perms)
    assert (made.result, made.comment) == (True, f"'{AWKWARD}' was configured.")
    assert made.changes == {
        "user": {"old": "", "new": AWKWARD},
        "tags": {"old": [], "new": ["monitoring", "policymaker"]},
        "perms": {"new": {"/": {"configure": "^x$", "write": "", "read": ".*"}}},
    }
    assert call("check_password", AWKWARD, secret) is True
    assert call("list_users")[AWKWARD] == ["monitoring", "policymaker"]
    other = converge("rabbitmq_user.present", AWKWARD, password="other", tags=[], perms=[{"/": ["", "", ""]}])
    assert "other" not in str(other)
    assert other.changes == {
        "password": {"old": "", "new": "Set password."},
        "tags": {"old": ["monitoring", "policymaker"], "new": []},
        "perms": {
            "old": {"/": {"configure": "^x$", "write": "", "read": ".*"}},
            "new": {"/": {"configure": "", "write": "", "read": ""}},
        },
    }
    assert call("list_user_permissions", AWKWARD) == {"/": {"configure": "", "write": "", "read": ""}}
    assert converge("rabbitmq_user.absent", AWKWARD).changes == {"name": {"old": AWKWARD, "new": ""}}


def test_a_user_without_a_password_is_let_in_by_none(converge, call):
    assert converge("rabbitmq_user.present", "bare").changes == {"user": {"old": "", "new": "bare"}}
    assert call("check_password", "bare", "guess") is False
    assert converge("rabbitmq_user.present", "bare", password=" x").result is False
    assert converge("rabbitmq_user.present", "bare", perms=[{"/": [".*"]}]).result is False


def test_policies_of_any_virtual_host(converge, call):
    call("add_vhost", "v")
    wanted = {
        "pattern": "^ha\\.$",
        "definition": '{"expires": 9000}',
        "vhost": "v",
        "apply_to": "queues",
        "priority": 3,
    }
    assert converge("rabbitmq_policy.present", "p", **wanted).changes == {"old": {}, "new": "p"}
    found = call("list_policies", "v")["v"]["p"]
    assert found == {"pattern": "^ha\\.$", "apply_to": "queues", "definition": '{"expires":9000}', "priority": "3"}
    changed = converge(
        "rabbitmq_policy.present", "p", **{**wanted, "definition": {"expires": 9}, "priority": 0, "apply_to": None}
    )
    assert changed.changes == {"old": found, "new": ["Definition", "Priority"]}
    assert call("list_policies", "v")["v"]["p"]["apply_to"] == "queues"
    assert converge("rabbitmq_policy.present", "p", **{**wanted, "definition": "{"}).result is False
    assert converge("rabbitmq_policy.absent", "p", vhost="v").changes == {"old": "p", "new": ""}
    missing = converge("rabbitmq_policy.absent", "p", vhost="nowhere")
    assert missing.comment == "RabbitMQ command failed: Virtual host 'nowhere' does not exist"


def test_plugins_and_upstreams(converge, call):
    enabled = converge("rabbitmq_plugin.enabled", "rabbitmq_federation")
    assert enabled.changes == {"old": "", "new": "rabbitmq_federation"}, enabled
    assert "there is no plugin nonsense" in converge("rabbitmq_plugin.enabled", "nonsense").comment
    made = converge("rabbitmq_upstream.present", "u", uri="amqp://a:secret@h", ack_mode="on-confirm", expires=0)
    assert made.changes == {"old": None, "new": {"uri": "amqp://a:**********@h", "ack-mode": "on-confirm"}}
    assert made.comment == 'Upstream "u" created.'
    assert json.loads(call("list_upstreams")["u"]) == {"uri": "amqp://a:secret@h", "ack-mode": "on-confirm"}
    changed = converge("rabbitmq_upstream.present", "u", uri=["amqp://a:secret@h", "amqp://i"], expires=7)
    assert changed.changes == {
        "old": {"uri": "amqp://a:**********@h", "ack-mode": "on-confirm"},
        "new": {"uri": ["amqp://a:**********@h", "amqp://i"], "expires": 7},
    }
    assert converge("rabbitmq_upstream.absent", "u").changes == {"old": "u", "new": None}
    disabled = converge("rabbitmq_plugin.disabled", "rabbitmq_federation")
    assert disabled.changes == {"old": "rabbitmq_federation", "new": ""}


def test_functions(call):
    assert call("add_user", "f", "p")["Added"].startswith('Adding user "f" ...')
    assert "Permissions Set" in call("set_permissions", "/", "f", "c", "w", "r")
    assert call("list_permissions", "/")["f"] == {"configure": "c", "write": "w", "read": "r"}
    assert "Password Changed" in call("change_password", "f", "q")
    assert "Deleted" in call("delete_user", "f")
    with pytest.raises(CallFailed, match='RabbitMQ command failed: User "f" does not exist'):
        call("delete_user", "f")
    assert call("list_queues") == {}
    assert call("list_queues_vhost", "/", None, "name", "messages") == {}
    assert "Set" in call("set_policy", "/", "p", "^x", {"expires": 9}, 2)
    assert "Deleted" in call("delete_policy", "/", "p")
    with pytest.raises(CallFailed, match="component federation-upstream not found"):
        call("set_upstream", "u", "amqp://h")
    assert "rabbitmq_management" in call("list_available_plugins")
    assert "RabbitMQ version" in call("status")


def test_a_node_joins_a_cluster(converge, call, server, epmd, monkeypatch):
    second = RabbitmqServer("two", epmd)
    try:
        for name, value in second.environment.items():
            monkeypatch.setenv(name, value)
        joined = converge("rabbitmq_cluster.joined", "c", host="localhost", user="one", runas=None)
        assert joined.changes == {"old": "", "new": server.node}
        assert server.node in call("cluster_status")
        for step in ("stop_app", "reset", "start_app"):
            call(step)
        assert server.node not in call("cluster_status")
    finally:
        second.close()


def test_a_broker_that_is_not_there(converge, monkeypatch):
    monkeypatch.setenv("RABBITMQ_NODENAME", "nobody@localhost")
    found = converge("rabbitmq_vhost.present", "x")
    assert found.result is False
    assert found.comment == (
        "RabbitMQ command failed: unable to perform an operation on node 'nobody@localhost'. "
        "Please see diagnostics information and suggestions below."
    )
