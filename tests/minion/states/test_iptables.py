"""iptables in the kernel, in a network namespace of the test's own, with each of its two backends."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from predictions import assert_foretold

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.execution import Context, Modules
from minion.machine.machine import LocalMachine
from minion.ownership.resources import resources_of

Converge = Callable[..., StateResult]
SSH = {"protocol": "tcp", "dport": 22, "jump": "ACCEPT"}
TOOLS = ("iptables", "ip6tables", "iptables-save", "ip6tables-save")


@pytest.fixture(params=["nft", "legacy"])
def kernel(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Has each iptables program work in an empty namespace; the backend. Skips where the kernel has none."""
    programs = {name: shutil.which(name.replace("tables", f"tables-{request.param}", 1)) for name in TOOLS}
    if not all(programs.values()) or not shutil.which("nsenter"):
        pytest.skip("iptables is not installed")
    words = ["unshare", "-n", "sh", "-c", "echo ready && exec sleep 600"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as namespace:
        try:
            assert namespace.stdout is not None
            if namespace.stdout.readline() != "ready\n":
                pytest.skip("namespaces of the network are not permitted here")
            folder = tmp_path.parent / f"{tmp_path.name}-bin"
            folder.mkdir()
            for name, program in programs.items():
                script = f'#!/bin/sh\nexec nsenter -t {namespace.pid} -n {program} "$@"\n'
                (folder / name).write_text(script)
                (folder / name).chmod(0o755)
            monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
            if subprocess.run(["iptables", "-S"], capture_output=True, check=False).returncode != 0:
                pytest.skip(f"this kernel has no iptables ({request.param})")
            yield request.param
        finally:
            namespace.kill()


def rules(chain: str = "INPUT", table: str = "filter") -> list[str]:
    found = subprocess.run(["iptables", "-t", table, "-S", chain], capture_output=True, text=True, check=True)
    return [line for line in found.stdout.splitlines() if line.startswith("-A")]


def failed(fun: str, name: str, /, *, test: bool = False, **arguments: Any) -> StateResult:
    chunk = Chunk(state="iptables", fun=fun, id="x", name=name, sls="s", arguments=arguments)
    engine = StateEngine(LocalMachine(sources_port=MemoryFiles({})), test=test)
    return run({"k": chunk}, engine, test=test, clock=lambda: 0.0)["k"]


@pytest.mark.usefixtures("kernel")
def test_rules_are_added_once_and_deleted(converge: Converge) -> None:
    added = converge("iptables.append", "ssh", chain="INPUT", **SSH)
    assert added.changes == {"locale": "ssh"}
    assert added.comment.startswith("Set iptables rule for ssh to: ")
    assert added.comment.endswith("--wait -t filter -A INPUT  -p tcp --dport 22 --jump ACCEPT for ipv4")
    first = {"chain": "INPUT", "source": "! 10.0.0.0/8", "comment": 'say "no"', "jump": "DROP"}
    assert converge("iptables.insert", "first", position=1, **first).changes
    last_but_one = converge("iptables.insert", "middle", position=-1, chain="INPUT", jump="RETURN", protocol="icmp")
    assert last_but_one.changes
    assert rules() == [
        '-A INPUT ! -s 10.0.0.0/8 -m comment --comment "say \\"no\\"" -j DROP',
        "-A INPUT -p icmp -j RETURN",
        "-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT",
    ]
    assert "already set" in converge("iptables.append", "ssh", chain="INPUT", **SSH).comment
    assert converge("iptables.delete", "first", **first).changes == {"locale": "first"}
    assert "already absent" in converge("iptables.delete", "first", **first).comment
    assert converge("iptables.delete", "by position", chain="INPUT", position=2).changes == {"locale": "by position"}
    assert (len(rules()), "already absent" in converge("iptables.delete", "x", chain="INPUT", position=2).comment) == (
        1,
        True,
    )
    assert converge("iptables.flush", "all").changes == {"locale": "all"}
    assert (rules(), converge("iptables.flush", "all").changes) == ([], {})


@pytest.mark.usefixtures("kernel")
def test_chains_and_policies(converge: Converge) -> None:
    assert converge("iptables.chain_present", "MINE", table="nat", family="ipv4").changes == {"locale": "MINE"}
    assert converge("iptables.append", "in it", chain="MINE", table="nat", jump="RETURN").changes
    assert converge("iptables.append", "to it", chain="OUTPUT", table="nat", jump="MINE").changes
    used = failed("chain_absent", "MINE", table="nat")
    assert (used.result, used.comment.partition(":")[0]) == (False, "Failed to delete MINE chain in nat table")
    assert converge("iptables.delete", "to it", chain="OUTPUT", table="nat", jump="MINE").changes
    assert converge("iptables.chain_absent", "MINE", table="nat").changes == {"locale": "MINE"}
    # A target that is a chain no more: the rule cannot be there.
    assert "already absent" in converge("iptables.delete", "to it", chain="OUTPUT", table="nat", jump="MINE").comment
    done = converge("iptables.set_policy", "closed", chain="FORWARD", policy="DROP")
    assert done.comment == "Set default policy for FORWARD to DROP family ipv4"
    again = converge("iptables.set_policy", "closed", chain="FORWARD", policy="DROP", family="ipv4")
    assert again.comment == "iptables default policy for chain FORWARD on table filter for ipv4 already set to DROP"
    assert converge("iptables.set_policy", "six", chain="FORWARD", policy="DROP", family="ipv6").changes


INVERSES = {
    "iptables.append": {"chain": "INPUT", **SSH},
    "iptables.insert": {"chain": "INPUT", "position": 1, **SSH},
    "iptables.chain_present": {"table": "nat", "family": "ipv4"},
}


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("fun", INVERSES)
def test_what_prune_does_takes_away_what_the_state_made_and_nothing_else(fun: str, converge: Converge) -> None:
    def everything() -> list[str]:
        listed = [subprocess.run(["iptables", "-t", table, "-S"], capture_output=True) for table in ("filter", "nat")]
        return [line for one in listed for line in one.stdout.decode().splitlines()]

    before = everything()
    assert converge(fun, "x", **INVERSES[fun]).changes
    subprocess.run(["iptables", "-I", "INPUT", "1", "-p", "icmp", "-j", "ACCEPT"], check=True)
    state, _, function = fun.partition(".")
    [owned] = resources_of(Chunk(state=state, fun=function, id="x", name="x", sls="s", arguments=INVERSES[fun]))
    assert converge(owned.inverse, owned.name, **owned.arguments).changes
    assert sorted(everything()) == sorted([*before, "-A INPUT -p icmp -j ACCEPT"])


@pytest.mark.usefixtures("kernel")
def test_what_iptables_refuses_is_foretold() -> None:
    bad = {"chain": "INPUT", "dport": 22, "jump": "ACCEPT"}
    for test in True, False:
        found = failed("append", "bad", test=test, **bad)
        assert found.result is False
        assert found.comment.startswith("Failed to set iptables rule for bad.\nAttempted rule was ")
        assert 'unknown option "--dport"' in found.comment
        far = failed("insert", "far", test=test, chain="INPUT", position=3, jump="ACCEPT")
        assert (far.result, "Index of insertion too big" in far.comment) == (False, True)
        assert failed("append", "x", test=test, chain="-F", jump="ACCEPT").result is False
    assert failed("append", "many", chain="INPUT", rules=[{"jump": "ACCEPT"}]).result is False
    assert rules() == []


@pytest.mark.usefixtures("kernel")
def test_rules_of_a_chain_that_the_run_makes_are_foretold() -> None:
    chunks = {
        "made": Chunk(state="iptables", fun="chain_present", id="a", name="MINE", sls="s"),
        "used": Chunk(
            state="iptables", fun="append", id="b", name="b", sls="s", arguments={"chain": "INPUT", "jump": "MINE"}
        ),
    }
    for test, wanted in (True, None), (False, True):
        engine = StateEngine(LocalMachine(sources_port=MemoryFiles({})), test=test)
        found = run(chunks, engine, test=test, clock=lambda: 0.0)
        assert [found[key].result for key in chunks] == [wanted, wanted], found
    assert rules() == ["-A INPUT -j MINE"]


@pytest.mark.usefixtures("kernel")
def test_what_is_foretold_of_a_run_of_rules_is_what_it_does(tmp_path: Path) -> None:
    drop, back = {"chain": "INPUT", "jump": "DROP"}, {"chain": "MINE", "jump": "RETURN"}
    subprocess.run(["iptables", "-A", "INPUT", "-p", "tcp", "--dport", "22", "-j", "ACCEPT"], check=True)
    assert_foretold(
        LocalMachine(sources_port=MemoryFiles({})),
        ("iptables.append", "ssh", {"chain": "INPUT", **SSH}),
        ("iptables.chain_present", "MINE", {}),
        ("iptables.chain_present", "MINE", {}),
        ("iptables.append", "back", back),
        ("iptables.append", "back", back),
        ("iptables.insert", "drop", {**drop, "position": 1}),
        ("iptables.insert", "drop", {**drop, "position": 1}),
        ("iptables.insert", "far", {"chain": "INPUT", "jump": "MINE", "position": 3}),
        ("iptables.insert", "too far", {"chain": "INPUT", "jump": "LOG", "position": 9}),
        ("iptables.chain_absent", "MINE", {}),
        ("iptables.delete", "far", {"chain": "INPUT", "jump": "MINE"}),
        ("iptables.delete", "far", {"chain": "INPUT", "jump": "MINE"}),
        ("iptables.delete", "ssh", {"chain": "INPUT", **SSH}),
        ("iptables.append", "ssh", {"chain": "INPUT", **SSH}),
        ("iptables.set_policy", "closed", {"chain": "FORWARD", "policy": "DROP"}),
        ("iptables.set_policy", "closed", {"chain": "FORWARD", "policy": "DROP"}),
        ("iptables.flush", "all", {}),
        ("iptables.flush", "all", {}),
        ("iptables.append", "ssh", {"chain": "INPUT", **SSH}),
        ("iptables.chain_absent", "MINE", {}),
        ("iptables.chain_absent", "MINE", {}),
        ("iptables.append", "gone", back),
    )


@pytest.mark.usefixtures("kernel")
def test_rules_are_saved_where_the_system_loads_them_from(converge: Converge, tmp_path: Path) -> None:
    file = tmp_path / "etc/rules"
    done = converge("iptables.append", "ssh", chain="INPUT", save=str(file), **SSH)
    assert done.comment.startswith("Set and saved iptables rule ssh for ipv4\n")
    assert done.comment.endswith(f'\nWrote 1 lines to "{file}"')
    assert "-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT\n" in file.read_text()
    file.write_text(file.read_text().replace("[0:0]", "[7:7]"))
    assert converge("iptables.append", "ssh", chain="INPUT", save=str(file), **SSH).changes == {}, "counters are none"
    assert converge("iptables.append", "other", chain="OUTPUT", jump="ACCEPT").changes
    machine = LocalMachine(sources_port=MemoryFiles({}), opts={"iptables.save_filters": ["-A OUTPUT"]})
    assert converge("iptables.append", "ssh", machine=machine, chain="INPUT", save=str(file), **SSH).changes == {}
    late = converge("iptables.append", "ssh", chain="INPUT", save=str(file), **SSH)
    assert late.changes == {"saved": str(file)}
    assert "-A OUTPUT -j ACCEPT\n" in file.read_text()


@pytest.mark.usefixtures("kernel")
def test_functions(tmp_path: Path) -> None:
    modules = Modules(Context(minion_id="m", make_grains=lambda: {"os_family": "Debian"}))

    def call(fun: str, *args: Any, **kwargs: Any) -> Any:
        return modules.call(f"iptables.{fun}", args, kwargs)

    assert call("version").startswith("v1.")
    rule = call("build_rule", match="state", connstate="NEW", jump="ACCEPT")
    assert rule == "-m state --state NEW --jump ACCEPT"
    whole = call("build_rule", "filter", "INPUT", command="I", position=3, full=True, jump="ACCEPT")
    assert whole.endswith("--wait -t filter -I INPUT 3 --jump ACCEPT")
    assert call("check", "filter", "INPUT", rule) is False
    assert call("append", "filter", "INPUT", rule) is True
    assert call("append", "filter", "INPUT", rule) is False
    assert call("check", "filter", "INPUT", rule) is True
    assert call("insert", "filter", "INPUT", 1, "! -s 10.0.0.0/8 -m comment --comment 'a b' -j DROP") == ""
    assert call("new_chain", "filter", "MINE") is True
    assert "already exists" in call("new_chain", "filter", "MINE")
    assert call("check_chain", "filter", "MINE") is True
    dropped = {"source": ["! 10.0.0.0/8"], "match": ["comment"], "comment": ["a b"], "jump": ["DROP"]}
    chain = call("get_rules")["filter"]["INPUT"]
    assert (chain["policy"], chain["rules"][0], chain["rules_comment"]) == ("ACCEPT", dropped, {"a b": dropped})
    assert call("save", str(tmp_path / "rules")) == f'Wrote 1 lines to "{tmp_path}/rules"'
    assert call("get_saved_rules", str(tmp_path / "rules")) == call("get_rules")
    assert call("delete", "filter", "INPUT", position=1) == ""
    assert call("delete", "filter", "INPUT", rule=rule) == ""
    assert call("delete", "filter", "INPUT", rule=rule) != ""
    assert call("set_policy", "filter", "INPUT", "DROP") == ""
    assert (call("get_policy", "filter", "INPUT"), call("get_policy", "filter", "NONE")) == ("DROP", None)
    assert call("get_saved_policy", "filter", "INPUT", str(tmp_path / "rules")) == "ACCEPT"
    assert call("delete_chain", "filter", "MINE") is True
    assert call("flush", "filter") == ""
