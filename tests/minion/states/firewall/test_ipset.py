"""ipset in the kernel, in a network namespace of the test's own."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from predictions import assert_foretold

from highstate.files import MemoryFiles
from highstate.types import StateResult
from minion.execution import CallFailed, Context, Modules
from minion.machine.machine import LocalMachine

Converge = Callable[..., StateResult]


@pytest.fixture(autouse=True)
def sets(wrap: Callable[..., Path]) -> Iterator[None]:
    """ipset works in the namespace."""
    wrap("ipset")
    if subprocess.run(["ipset", "create", "probe", "hash:ip"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this kernel has no ipset")
    subprocess.run(["ipset", "destroy"], check=True)
    yield
    subprocess.run(["ipset", "destroy"], check=True)


def ipset(*words: str) -> list[str]:
    done = subprocess.run(["ipset", *words], capture_output=True, text=True, check=True)
    return sorted(done.stdout.splitlines())


def members(name: str) -> list[str]:
    return [line.removeprefix(f"add {name} ") for line in ipset("save", name) if line.startswith("add ")]


def test_sets_are_made_once_and_taken_away(converge: Converge) -> None:
    made = converge("ipset.set_present", "hosts", set_type="hash:ip", comment=True, timeout=0, maxelem=99)
    assert made.changes == {"locale": "hosts"}
    assert made.comment == "ipset set hosts created successfully for ipv4"
    header = next(line for line in ipset("list", "-t", "hosts") if line.startswith("Header"))
    assert "family inet hashsize 1024 maxelem 99 timeout 0 comment" in header
    assert converge("ipset.set_present", "hosts", set_type="hash:ip").comment == (
        "ipset set hosts already exists for ipv4"
    )
    other = converge("ipset.set_present", "hosts", set_type="hash:net")
    assert other.comment == "Failed to create set hosts for ipv4: it is there, of type hash:ip"
    assert converge("ipset.set_present", "ports", set_type="bitmap:port", range="10-20", counters=True).changes
    assert converge("ipset.set_present", "six", set_type="hash:net", family="ipv6").changes
    assert converge("ipset.set_present", "all", set_type="list:set", size=4).changes
    assert converge("ipset.present", "x", set_name="all", entry="hosts").changes
    assert "in use" in converge("ipset.set_absent", "hosts").comment
    assert converge("ipset.absent", "x", set_name="all", entry="hosts").changes
    assert converge("ipset.set_absent", "hosts").changes == {"locale": "hosts"}
    assert converge("ipset.set_absent", "hosts").comment == "ipset set hosts for ipv4 is already absent"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"set_type": "hash:people"}, "Set Type is invalid"),
        ({"set_type": "bitmap:ip"}, "range is a required argument"),
        ({"set_type": "hash:ip", "range": "1-2"}, "has no range"),
        ({"set_type": "hash:ip", "family": "ipx"}, "ipx is no family"),
        ({"set_type": "hash:ip", "maxelem": "many"}, "Syntax error"),
    ],
)
def test_sets_that_cannot_be(converge: Converge, given: dict[str, Any], said: str) -> None:
    result = converge("ipset.set_present", "bad", **given)
    assert result.result is False
    assert result.comment.startswith("Failed to create set bad")
    assert said in result.comment
    assert ipset("list", "-n") == []


def test_entries_are_added_once_and_taken_away(converge: Converge) -> None:
    ipset("create", "hosts", "hash:ip", "comment", "timeout", "0")
    first = converge("ipset.present", "x", set_name="hosts", entry=["10.0.0.1", "10.0.0.2 timeout 500"], comment="a b")
    assert first.comment == (
        "entry 10.0.0.1 comment a b added to set hosts for family ipv4\n"
        "entry 10.0.0.2 timeout 500 comment a b added to set hosts for family ipv4\n"
    )
    assert first.changes == {"locale": "x"}
    assert members("hosts")[0] == '10.0.0.1 timeout 0 comment "a b"'
    assert converge("ipset.present", "x", set_name="hosts", entry='10.0.0.1 comment "a b"').changes == {}
    assert converge("ipset.present", "x", set_name="hosts", entry="10.0.0.2", comment="other").changes
    assert "10.0.0.2 timeout 0" not in members("hosts")[1]
    assert converge("ipset.present", "x", set_name="hosts", entry="10.0.0.2", timeout=0).changes
    assert converge("ipset.present", "x", set_name="hosts", entry="10.0.0.0/29").changes
    assert len(members("hosts")) == 8
    assert converge("ipset.present", "x", set_name="hosts", entry="10.0.0.1-10.0.0.3").changes == {}
    gone = converge("ipset.absent", "x", set_name="hosts", entry=["10.0.0.0-10.0.0.4", "10.9.0.1"])
    assert gone.comment == (
        "ipset entry for 10.9.0.1 not present in set hosts for ipv4\n"
        "ipset entry 10.0.0.0-10.0.0.4 removed from set hosts for ipv4\n"
    )
    assert len(members("hosts")) == 3
    assert converge("ipset.flush", "hosts").changes == {"locale": "hosts"}
    assert converge("ipset.flush", "hosts").changes == {}


@pytest.mark.parametrize(
    ("create", "entries", "kept"),
    [
        (["hash:net"], ["10.1.2.3/8", "1.2.3.4", "1.1.0.0-1.1.5.3"],
         ["1.1.0.0/22", "1.1.4.0/24", "1.1.5.0/30", "1.2.3.4", "10.0.0.0/8"]),
        (["hash:ip,port"], ["1.1.1.1,http", "1.1.1.1,udp:53-54", "1.1.1.2,90"],
         ["1.1.1.1,tcp:80", "1.1.1.1,udp:53", "1.1.1.1,udp:54", "1.1.1.2,tcp:90"]),
        (["hash:ip", "family", "inet6"], ["2001:DB8::1"], ["2001:db8::1"]),
        (["hash:ip", "netmask", "24"], ["1.2.3.4"], ["1.2.3.0"]),
        (["bitmap:port", "range", "10-20"], ["12-14"], ["12", "13", "14"]),
        (["bitmap:ip,mac", "range", "1.1.0.0/24"], ["1.1.0.3,aa:bb:cc:dd:ee:ff"], ["1.1.0.3,AA:BB:CC:DD:EE:FF"]),
        (["hash:net,iface"], ["10.0.0.0/8,eth0", "10.0.0.0/9,eth0 nomatch"],
         ["10.0.0.0/8,eth0", "10.0.0.0/9,eth0 nomatch"]),
    ],
)  # fmt: skip
def test_entries_of_each_kind(converge: Converge, create: list[str], entries: list[str], kept: list[str]) -> None:
    ipset("create", "s", *create)
    assert converge("ipset.present", "x", set_name="s", entry=entries).changes
    assert members("s") == kept
    assert converge("ipset.present", "x", set_name="s", entry=entries).changes == {}
    assert converge("ipset.absent", "x", set_name="s", entries=entries).changes
    assert members("s") == []


def test_a_network_holds_its_addresses(converge: Converge) -> None:
    ipset("create", "nets", "hash:net")
    ipset("add", "nets", "10.0.0.0/8")
    assert converge("ipset.present", "x", set_name="nets", entry="10.1.2.3").changes == {}
    assert converge("ipset.absent", "x", set_name="nets", entry="10.1.2.3").changes == {}
    assert members("nets") == ["10.0.0.0/8"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"set_name": "none", "entry": "1.1.1.1"}, "Error: Set none does not exist"),
        ({"set_name": "hosts"}, "ipset entry must be specified"),
        ({"set_name": "hosts", "entry": "1.1.1.1", "comment": "a"}, "not created with comment support"),
        ({"set_name": "hosts", "entry": "1.1.1.1 timeout 3"}, "not created with timeout support"),
        ({"set_name": "hosts", "entry": "0.0.0.0/8"}, "more than 65536"),
        ({"set_name": "hosts", "entry": "nobody.invalid"}, "resolving to IPv4 address failed"),
    ],
)
def test_entries_that_cannot_be(converge: Converge, given: dict[str, Any], said: str) -> None:
    ipset("create", "hosts", "hash:ip")
    result = converge("ipset.present", "x", **given)
    assert result.result is False
    assert said in result.comment
    assert members("hosts") == []


def test_a_set_that_an_earlier_state_makes_is_waited_for() -> None:
    machine = LocalMachine(sources_port=MemoryFiles({}))
    made = ("ipset.set_present", "hosts", {"set_type": "hash:ip"})
    added = ("ipset.present", "x", {"set_name": "hosts", "entry": "1.1.1.1"})
    assert_foretold(machine, made, added, ("ipset.flush", "hosts", {}), not_known=frozenset((1, 2)))


def test_functions() -> None:
    def call(fun: str, *args: Any, **kwargs: Any) -> Any:
        return Modules(Context(minion_id="x")).call(f"ipset.{fun}", args, kwargs)

    assert call("version").startswith("v")
    assert call("new_set", "a", "hash:ip", comment=True, timeout=0) is True
    assert call("check_set", "a") is True
    assert call("add", "a", "10.0.0.1", comment="x y") == "Success"
    assert call("add", "a", "10.0.0.1").startswith("Warn: Entry")
    assert call("check", "a", "10.0.0.0-10.0.0.1") is False
    assert call("check", "a", ["1.1.1.1", '10.0.0.1 comment "x y"']) is True
    assert (call("test", "a", "10.0.0.1"), call("test", "a", "10.0.0.2")) == (True, False)
    assert call("rename_set", "a", "b") is True
    assert [one["Name"] for one in call("list_sets")] == ["b"]
    assert call("delete", "b", "10.0.0.1") == "Success"
    with pytest.raises(CallFailed, match="cannot be deleted"):
        call("delete", "b", "10.0.0.1")
    with pytest.raises(CallFailed, match="Set a does not exist"):
        call("add", "a", "10.0.0.1")
    assert call("flush") is True
    assert call("delete_set", "b") is True
    assert call("list_sets") == []
