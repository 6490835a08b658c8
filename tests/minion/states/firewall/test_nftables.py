"""nftables in the kernel, in a network namespace of the test's own."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from predictions import assert_foretold

from highstate.files import MemoryFiles
from highstate.types import StateResult
from minion.execution import Context, Modules
from minion.machine.failure import StateFailed
from minion.machine.machine import LocalMachine
from minion.providers.firewall.nft_rule import rule_text
from minion.states.firewall import nftables

Converge = Callable[..., StateResult]
SSH = {"table": "filter", "chain": "input", "proto": "tcp", "dport": 22, "jump": "accept"}


@pytest.fixture(autouse=True)
def ruleset(wrap: Callable[..., Path]) -> Iterator[None]:
    """nft works in the namespace; a table with a chain is there."""
    wrap("nft")
    if subprocess.run(["nft", "add", "table", "ip", "filter"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this kernel has no nftables")
    chain = "{ type filter hook input priority 0; policy accept; }"
    subprocess.run(["nft", "add", "chain", "ip", "filter", "input", chain], check=True)
    yield
    subprocess.run(["nft", "flush", "ruleset"], check=True)


def listed(*words: str) -> str:
    return subprocess.run(["nft", "-s", "list", *words], capture_output=True, text=True, check=True).stdout


def rules() -> list[str]:
    return [line.strip() for line in listed("chain", "ip", "filter", "input").splitlines()[3:-2]]


@pytest.fixture
def machine() -> LocalMachine:
    return LocalMachine(sources_port=MemoryFiles({}))


def test_rules_are_added_once_and_deleted(converge: Converge) -> None:
    added = converge("nftables.append", "ssh", **SSH)
    assert added.changes == {"locale": "ssh"}, added
    assert added.comment == ("Set nftables rule for ssh to: tcp dport { 22 } accept for ipv4")
    first = {**SSH, "connstate": "established,related", "if": "eth0", "counter": True, "source": "10.0.0.0/8"}
    assert converge("nftables.insert", "first", **first).changes
    assert rules() == [
        'iifname "eth0" ct state { established, related } counter ip saddr 10.0.0.0/8 tcp dport 22 accept',
        "tcp dport 22 accept",
    ]
    gone = converge("nftables.delete", "ssh", **SSH)
    assert gone.comment == "Delete nftables rule for ssh tcp dport { 22 } accept"
    assert "already absent" in converge("nftables.delete", "ssh", **SSH).comment
    assert len(rules()) == 1
    assert converge("nftables.flush", "all", chain="input").changes == {"locale": "all"}
    assert (rules(), converge("nftables.flush", "all").changes) == ([], {})


def test_tables_chains_and_policies(converge: Converge) -> None:
    assert converge("nftables.table_present", "mine", family="inet").changes == {"locale": "mine"}
    hooked = {"table": "mine", "family": "inet", "table_type": "filter", "hook": "forward", "priority": -10}
    hooking = converge("nftables.chain_present", "forwarded", **hooked)
    assert hooking.changes == {"locale": "forwarded"}, hooking
    closed = converge("nftables.set_policy", "x", table="mine", family="inet", chain="forwarded", policy="drop")
    assert closed.comment == "Set default policy for forwarded to drop family inet"
    assert "priority filter - 10; policy drop;" in listed("chain", "inet", "mine", "forwarded")
    assert converge(
        "nftables.append", "six", table="mine", chain="forwarded", family="inet", saddr="::1", jump="drop"
    ).changes
    assert converge("nftables.chain_absent", "forwarded", table="mine", family="inet").changes == {
        "locale": "forwarded"
    }
    assert converge("nftables.table_absent", "mine", family="inet").changes == {"locale": "mine"}
    assert "already absent" in converge("nftables.table_absent", "mine", family="inet").comment


def test_the_rules_are_saved(converge: Converge, tmp_path: Path) -> None:
    file = tmp_path / "rules.nft"
    given = {"chain": "input", "policy": "drop", "save": True, "save_filename": str(file)}
    assert converge("nftables.set_policy", "x", **given).comment.startswith("Set and saved default policy")
    assert file.read_text().startswith("#! nft -f\n\ntable ip filter {\n\tchain input {")
    subprocess.run(["unshare", "-n", "nft", "-f", file], check=True)


def test_states_of_one_run_that_need_each_other_are_foretold(machine: LocalMachine) -> None:
    assert_foretold(
        machine,
        ("nftables.table_present", "t", {}),
        ("nftables.chain_present", "c", {"table": "t"}),
        ("nftables.append", "ssh", {**SSH, "table": "t", "chain": "c"}),
    )


def test_what_nft_refuses_is_foretold(machine: LocalMachine, converge: Converge) -> None:
    bad = converge("nftables.append", "bad", **{**SSH, "jump": "nowhere"})
    assert (bad.result, "Failed to set nftables rule for bad." in bad.comment) == (False, True)
    none = converge("nftables.append", "none", **{**SSH, "chain": "none"})
    assert (none.result, "No such file" in none.comment) == (False, True)
    with pytest.raises(StateFailed, match="Table t in family ipv4 does not exist"):
        nftables.chain_present(machine, "c", table="t")
    with pytest.raises(StateFailed, match="Failed to flush table t in family ipv4, table does not exist"):
        nftables.flush(machine, "x", table="t")
    with pytest.raises(StateFailed, match="no family of nftables"):
        nftables.table_present(machine, "t", family="ipv5")


def test_options_are_words_of_nft() -> None:
    assert rule_text("ip", {"dports": "22,443,80", "proto": "tcp", "jump": "accept"}) == (
        "tcp dport { 443, 80, 22 } accept"
    )
    assert rule_text("ip6", {"sport": "1:9", "proto": "udp", "daddr": "::1", "reject-with": "tcp reset"}) == (
        "ip6 daddr ::1 udp sport { 1-9 } reject with tcp reset"
    )
    with pytest.raises(StateFailed, match="match: no option"):
        rule_text("ip", {"match": "state"})
    with pytest.raises(StateFailed, match="jump must not have a line break"):
        rule_text("ip", {"jump": "accept\nflush ruleset"})


def test_the_module_asks_and_tells() -> None:
    def call(fun: str, *args: Any, **given: Any) -> Any:
        return Modules(Context(minion_id="m")).call(f"nftables.{fun}", args, given)

    assert call("check_table", "filter")["result"] is True
    assert call("check_chain", "filter", "none") == {
        "result": False, "comment": "Chain none in table filter in family ipv4 does not exist",
    }  # fmt: skip
    rule = call("build_rule", proto="tcp", dport=80, jump="drop")["rule"]
    assert call("append", "filter", "input", rule)["result"] is True
    assert call("append", "filter", "input", rule)["comment"].endswith("already exists")
    assert call("get_rule_handle", "filter", "input", rule)["handle"].isdigit()
    assert call("insert", "filter", "input", rule="tcp dport 1 nonsense")["result"] is False
    assert call("delete", "filter", "input", rule=rule)["result"] is True
    assert (call("set_policy", "filter", "input", "DROP"), call("get_policy", "filter", "input")) == (True, "drop")
    assert call("new_table", "t")["result"]
    assert call("new_chain", "t", "c")["result"]
    assert call("delete_chain", "t", "c")["comment"] == "Chain c in table t in family ipv4 deleted"
    assert [each["name"] for each in call("list_tables")] == ["filter", "t"]
    assert call("flush", "t")["result"]
    assert call("delete_table", "t")["result"]
    assert call("get_rules")[0].startswith("table ip filter {")
    assert call("get_rules_json")[0].keys() == {"metainfo"}
