"""Functions and states of Vault on a real OpenBao server, by a minion's own login."""

import time

import pytest
from openbao import openbao

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk
from minion.config.group_rules import options_of
from minion.engine.engine import StateEngine
from minion.execution import CallFailed, Context, Modules
from minion.machine.machine import LocalMachine


@pytest.fixture(scope="module")
def bao(tmp_path_factory):
    with openbao(tmp_path_factory.mktemp("bao")) as server:
        yield server


def context_of(bao, token="root"):
    vault = {"server": {"url": bao.url}, "auth": {"token": token}, "config_location": "local"}
    return Context(minion_id="web1", options=options_of({"vault": vault}))


@pytest.fixture
def call(bao):
    modules = Modules(context_of(bao))
    return lambda fun, *args, **kwargs: modules.call(f"vault.{fun}", args, kwargs)


@pytest.fixture
def apply(bao):
    context = context_of(bao)
    machine = LocalMachine(sources_port=MemoryFiles({}), minion_id="web1", opts={}, functions=context.functions)

    def one(state, fun, name, test=False, **arguments):
        chunk = Chunk(state=state, fun=fun, id="a", name=name, sls="s", arguments=arguments)
        return run({"k": chunk}, StateEngine(machine, Modules(context), test=test), test=test, clock=time.time)["k"]

    return one


@pytest.mark.parametrize("mount", ["secret", "old"])
def test_secrets_of_both_engines(call, mount):
    call("write_secret", f"{mount}/app/one", user="u", password="p")
    assert call("read_secret", f"{mount}/app/one") == {"user": "u", "password": "p"}
    assert call("read_secret", f"{mount}/app/one", "user") == "u"
    assert call("read_secret", f"{mount}/app/one", "none", default="d") == "d"
    call("patch_secret", f"{mount}/app/one", user="v", password=None)
    assert call("read_secret", f"{mount}/app/one") == {"user": "v"}
    call("write_raw", f"{mount}/app/two", {"a": {"b": 1}})
    call("patch_raw", f"{mount}/app/two", {"a": {"c": 2}})
    assert call("read_secret", f"{mount}/app/two") == {"a": {"b": 1, "c": 2}}
    assert call("list_secrets", f"{mount}/app") == {"keys": ["one", "two"]}
    assert call("list_secrets", f"{mount}/app", keys_only=True) == ["one", "two"]
    call("delete_secret", f"{mount}/app/one")
    with pytest.raises(CallFailed, match="there is nothing at"):
        call("read_secret", f"{mount}/app/one")
    call("wipe_secret", f"{mount}/app/two")
    assert call("list_secrets", f"{mount}/none", default=[]) == []


def test_versions(call):
    path = "secret/versions"
    for number in (1, 2, 3):
        call("write_secret", path, n=number)
    assert call("read_secret", path, version=2) == {"n": 2}
    assert call("read_secret", path, metadata=True)["metadata"]["version"] == 3
    assert call("read_secret_meta", path)["current_version"] == 3
    assert call("read_secret_meta", "old/x") is False
    call("delete_secret", path, 2)
    call("delete_secret", path)
    call("restore_secret", path)
    assert call("read_secret", path) == {"n": 3}
    call("restore_secret", path, all_versions=True)
    assert call("read_secret", path, version=2) == {"n": 2}
    call("destroy_secret", path, 1)
    with pytest.raises(CallFailed, match="there is nothing at"):
        call("read_secret", path, version=1)
    call("delete_secret", path, all_versions=True)
    call("destroy_secret", path, all_versions=True)
    with pytest.raises(CallFailed, match="has no versions"):
        call("restore_secret", "old/x")


def test_policies_and_queries(bao, call):
    assert call("policy_fetch", "p") is None
    assert call("policy_write", "p", 'path "secret/data/mine" { capabilities = ["read"] }')
    assert "p" in call("policies_list")
    assert call("query", "GET", "sys/policies/acl/p")["data"]["name"] == "p"
    mine = Modules(context_of(bao, bao.token("p")))
    with pytest.raises(CallFailed, match=r"does not permit GET of secret/data/other \(its policies: default, p\)"):
        mine.call("vault.read_secret", ["secret/other"])
    assert call("policy_delete", "p") is True
    assert call("policy_delete", "p") is False
    assert call("get_server_config")["url"] == bao.url
    assert call("clear_token_cache") is True


def test_without_a_server_it_says_what_to_do():
    with pytest.raises(CallFailed, match="give this minion the option vault"):
        Modules(Context(minion_id="a")).call("vault.read_secret", ["secret/x"])


def test_policy_states_foretell_what_they_do(apply, call):
    rules = 'path "secret/data/x" {\n  capabilities = ["read"]\n}\n'
    foretold = apply("vault", "policy_present", "demo/one", test=True, rules=rules)
    assert (foretold.result, foretold.comment) == (None, "Policy would be created")
    assert call("policy_fetch", "demo/one") is None
    done = apply("vault", "policy_present", "demo/one", rules=rules)
    assert (done.result, done.comment, done.changes) == (True, "Policy has been created", foretold.changes)
    again = apply("vault", "policy_present", "demo/one", rules=rules)
    assert (again.changes, again.comment) == ({}, "Policy exists, and has the correct content")
    other = apply("vault", "policy_present", "demo/one", rules=rules.replace("read", "list"))
    assert other.comment == "Policy has been updated"
    assert '-  capabilities = ["read"]' in other.changes["demo/one"]
    assert apply("vault", "policy_absent", "demo/one", test=True).comment == "Policy would be deleted"
    gone = apply("vault", "policy_absent", "demo/one")
    assert (gone.changes, gone.comment) == ({"deleted": "demo/one"}, "Policy has been deleted")
    assert apply("vault", "policy_absent", "demo/one").comment == "Policy is already absent"


def test_secret_states_show_no_value(apply, call):
    values = {"user": "u", "password": "hunter2"}
    foretold = apply("vault_secret", "present", "secret/st", test=True, values=values)
    assert (foretold.result, foretold.changes) == (None, {"written": "secret/st"})
    done = apply("vault_secret", "present", "secret/st", values=values)
    assert (done.comment, done.changes) == ("The secret was written", {"written": "secret/st"})
    assert apply("vault_secret", "present", "secret/st", values={"user": "u"}).changes == {}
    patched = apply("vault_secret", "present", "secret/st", values={"user": None, "more": 1})
    assert patched.changes == {"patched": "secret/st"}
    assert call("read_secret", "secret/st") == {"password": "hunter2", "more": 1}
    assert apply("vault_secret", "present", "secret/st", values={"a": 1}, sync=True).changes == {"written": "secret/st"}
    assert "hunter2" not in str((foretold, done, patched))
    assert apply("vault_secret", "absent", "secret/st", operation="wipe").changes == {"wiped": "secret/st"}
    assert apply("vault_secret", "absent", "secret/st").comment == "The secret is already absent"
