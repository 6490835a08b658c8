"""Functions by grains, by chance with a seed, and by the vault; what they cannot tell, the machine is asked."""

import pytest

from highstate.files import MemoryFiles
from highstate.ports import CompilePorts, Fact, RecordedFacts, SecretFailed
from highstate.render.context import RenderContext, RenderFailed
from highstate.render.pipeline import render_sls
from highstate.types import Minion

GRAINS = {
    "id": "web1",
    "nodename": "web1.example.org",
    "ip4_interfaces": {"lo": ["127.0.0.1"], "eth0": ["10.0.0.9", "10.0.0.10"], "eth1": ["8.8.4.4"]},
    "ip6_interfaces": {"lo": ["::1"], "eth0": ["fe80::1"]},
    "hwaddr_interfaces": {"eth0": "00:11:22:33:44:55"},
}


class Vault:
    """A vault of two secrets."""

    def read_secret(self, path, minion):
        if path != f"secret/{minion.id}":
            raise SecretFailed("no such path")
        return {"user": "u", "password": "p"}

    def list_secrets(self, path, minion):
        return ["a", "b"]


def value(expression, grains=GRAINS, files=None, **settings):
    tree = {"t.sls": f"v: {{{{ ({expression}) | json }}}}\n", **(files or {})}
    trees = MemoryFiles({"base": {path: text.encode() for path, text in tree.items()}})
    work = RenderContext(minion=Minion(id="web1", grains=grains), files=trees, **settings)
    return render_sls("t.sls", work, sls="t").data["v"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("salt['network.get_hostname']()", "web1.example.org"),
        ("salt['network.ip_addrs']()", ["8.8.4.4", "10.0.0.9", "10.0.0.10"]),
        ("salt['network.ip_addrs']('eth0')", ["10.0.0.9", "10.0.0.10"]),
        ("salt['network.ip_addrs'](cidr='10.0.0.0/8')", ["10.0.0.9", "10.0.0.10"]),
        ("salt['network.ip_addrs'](type='public')", ["8.8.4.4"]),
        ("salt['network.ip_addrs']('nope')", []),
        ("salt['network.ip_addrs6'](include_loopback=True)", ["::1", "fe80::1"]),
        ("salt['network.interface_ip']('eth0')", "10.0.0.9"),
        ("salt['network.hw_addr']('eth0')", "00:11:22:33:44:55"),
        ("salt['network.in_subnet']('8.8.0.0/16')", True),
        ("salt['network.in_subnet']('9.8.0.0/16', '9.8.1.1')", True),
        ("salt['network.calc_net']('172.17.0.5', '255.255.255.240')", "172.17.0.0/28"),
        ("salt['random.seed'](60)", 52),
        ("salt['random.sample']([1, 2, 3, 4], 2, seed='x')", [4, 3]),
        ("salt['random.hash']('x', 'sha1')", "11f6ad8ec52a2984abaafd7c3b516503785c2072"),
        ("salt['state.sls_exists']('t,pkg.sub')", True),
        ("salt['state.sls_exists'](['t', 'nope'])", False),
        ("salt['slsutil.deserialize']('toml', 'a = 1')", {"a": 1}),
        ("salt['sdb.get']('plain')", "plain"),
    ],
)
def test_functions(expression, expected):
    assert value(expression, files={"pkg/sub/init.sls": ""}) == expected


@pytest.mark.parametrize("call", ["network.get_hostname", "random.rand_int", "cp.cache_file", "sdb.get"])
def test_what_cannot_be_told_is_asked_of_the_machine(call):
    arguments = {"cp.cache_file": ["salt://x"], "sdb.get": ["sdb://x/y"]}.get(call, [])
    expression = f"salt['{call}'](*{arguments})"
    with pytest.raises(RenderFailed) as caught:
        value(expression, grains={})
    assert caught.value.live == call
    args = [1, 10] if call == "random.rand_int" else arguments
    facts = RecordedFacts([{"fun": call, "args": args, "ret": "answer"}])
    assert value(expression, grains={}, ports=CompilePorts(facts=facts)) == "answer"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("salt['vault.read_secret']('secret/web1')", {"password": "p", "user": "u"}),
        ("salt['vault.read_secret']('secret/web1', 'user')", "u"),
        ("salt['vault.read_secret']('secret/db', 'user', default='d')", "d"),
        ("salt['vault.list_secrets']('secret')", {"keys": ["a", "b"]}),
        ("salt['sdb.get']('sdb://my/secret/web1/password')", "p"),
    ],
)
def test_the_vault(expression, expected):
    opts = {"my": {"driver": "vault"}}
    assert value(expression, ports=CompilePorts(secrets=Vault()), opts=opts) == expected


def test_a_secret_that_is_not_there_is_an_error():
    for path in ("'secret/db'", "'secret/web1', 'nope'"):
        with pytest.raises(RenderFailed, match=r"vault\.read_secret"):
            value(f"salt['vault.read_secret']({path})", ports=CompilePorts(secrets=Vault()))


@pytest.mark.parametrize("text", ["is defined", "is not defined", "is undefined", "| default('x')", "| d('x')"])
def test_nobody_guesses_what_the_machine_has(text):
    """A guess would quietly choose a branch."""
    with pytest.raises(RenderFailed) as caught:
        value(f"salt['cmd.run'] {text}")
    assert caught.value.live == "cmd.run"
    assert value(f"(salt['no.such'] {text}) in (false, true, 'x')") is True


def test_with_facts_a_function_of_the_machine_is_there():
    assert value("salt['cmd.run'] is defined", ports=CompilePorts(facts=RecordedFacts([]))) is True


@pytest.mark.parametrize("call", ["pillar.get']('a', pillarenv='dev')", "pillar.items'](pillarenv='dev')"])
def test_the_pillar_of_another_environment_is_not_passed_off_as_this_one(call):
    assert value("salt['pillar.get']('a', pillarenv='base')", pillar={"a": 1}) == 1
    with pytest.raises(RenderFailed, match="pillarenv 'dev' is not compiled here"):
        value(f"salt['{call}", pillar={"a": 1})


def test_what_the_controller_cannot_answer_is_not_said_of_the_machine():
    class Nobody:
        def answer(self, fun, args, kwargs):
            return Fact(error="there is no runner 'x.y'")

    with pytest.raises(RenderFailed) as caught:
        value("salt['saltutil.runner']('x.y')", ports=CompilePorts(facts=Nobody()))
    assert "salt['saltutil.runner']: there is no runner 'x.y'" in str(caught.value)


@pytest.mark.parametrize("call", ["vault.read_secret", "vault.list_secrets"])
def test_a_vault_that_is_not_configured_is_named(call):
    with pytest.raises(RenderFailed, match="no vault is configured") as failed:
        value(f"salt['{call}']('secret/x')")
    assert failed.value.live == "", "a minion is not asked: its answers are kept as they are"
