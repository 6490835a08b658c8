"""`saltern call --return`, `return:` of the configuration and of the agent: what returners are given is Salt's."""

from __future__ import annotations

import io
import json
import os
import socket
from pathlib import Path

import pytest

from minion.call.call import main
from minion.call.options import CallOptions
from wire.messages import Call, Hello

MINE = """
import json

def __virtual__():
    return "kept"

def returner(ret):
    with open(__opts__["kept.file"], "a") as file:
        file.write(json.dumps(ret, default=str) + "\\n")
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "_returners").mkdir(parents=True)
    (tree / "_returners" / "mine.py").write_text(MINE)
    (tree / "_returners" / "broken.py").write_text("import nothing_of_that_name\n")
    (tree / "_returners" / "empty.py").write_text("def other():\n    pass\n")
    (tmp_path / "root/var/cache/saltern/minion").mkdir(parents=True)
    about = {
        "id": "web1", "root_dir": str(tmp_path / "root"), "file_roots": {"base": [str(tree)]}, "file_client": "local",
        "kept.file": str(tmp_path / "kept"), "rawfile_json.filename": str(tmp_path / "log" / "raw"),
    }  # fmt: skip
    (tmp_path / "minion").write_text(json.dumps(about))
    assert call(tmp_path, "saltutil.sync_returners")[0] == 0
    return tmp_path


def call(config: Path, fun: str, *args: str, returners: str = "") -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    options = CallOptions(fun=fun, args=args, config_dir=config, out="json", log_level="error", returners=returners)
    return main(options, out, err), out.getvalue(), err.getvalue()


def on_result(place: Path) -> list[dict]:
    return [json.loads(line) for line in place.read_text().splitlines()] if place.exists() else []


def test_a_returner_of_the_tree_gets_salts_keys(config):
    code, out, err = call(config, "test.arg", "a", "b=1", returners="kept")
    assert (code, err) == (0, "")
    (ret,) = on_result(config / "kept")
    assert ret.pop("jid").isdigit()
    value = {"args": ["a"], "kwargs": {"b": 1}}
    assert ret == {
        "return": value, "retcode": 0, "id": "web1", "fun": "test.arg", "fun_args": ["a", "b=1"], "success": True,
    }  # fmt: skip
    assert json.loads(out) == {"local": value}


def test_one_that_fails_costs_nothing_but_itself(config):
    code, _, err = call(config, "test.ping", returners="nope,broken,empty,kept")
    assert code == 0
    assert "returner nope: LookupError: there is none" in err
    assert "returner broken: LookupError: ModuleNotFoundError: No module named 'nothing_of_that_name'" in err
    assert "returner empty: LookupError: the module has no function returner" in err
    assert [ret["return"] for ret in on_result(config / "kept")] == [True]


def test_built_in_ones(config):
    _, out, err = call(config, "test.ping", returners="local, rawfile_json")
    assert err == ""
    assert "'fun': 'test.ping'" in out
    assert on_result(config / "log" / "raw")[0]["return"] is True


def test_what_is_kept_is_private_whatever_the_umask(config):
    before = os.umask(0)
    try:
        call(config, "test.ping", returners="rawfile_json")
    finally:
        os.umask(before)
    assert (config / "log" / "raw").stat().st_mode & 0o777 == 0o600
    assert (config / "log").stat().st_mode & 0o777 == 0o700


def test_a_run_of_states_and_an_exit_code(config):
    call(config, "state.single", "test.nop", "x", returners="kept")
    call(config, "cmd.retcode", "exit 3", returners="kept")
    run, command = on_result(config / "kept")
    assert (run["out"], run["retcode"], run["success"]) == ("highstate", 0, True)
    assert (command["return"], command["retcode"]) == (3, 3)


def test_those_of_the_configuration(config):
    about = json.loads((config / "minion").read_text())
    (config / "minion").write_text(json.dumps({**about, "return": ["kept"]}))
    call(config, "test.ping")
    assert len(on_result(config / "kept")) == 1


def test_calls_of_the_agent_too(controller, agents, tmp_path):
    raw = tmp_path / "raw"
    agents(**{"return": "rawfile_json", "rawfile_json.filename": str(raw)}).start()
    controller.next(Hello)
    controller.send(Call(run_id="c1", fun="test.echo", args=("hi",)))
    assert controller.result("c1").value == "hi"
    (ret,) = controller.wait(lambda: on_result(raw), "the returner")
    assert (ret["jid"], ret["fun"], ret["fun_args"], ret["return"]) == ("c1", "test.echo", ["hi"], "hi")


def test_a_returner_that_is_built_in_gets_it_too(config):
    place = config / "log.socket"
    about = json.loads((config / "minion").read_text())
    (config / "minion").write_text(json.dumps({**about, "syslog.address": str(place)}))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(str(place))
        log.settimeout(30)
        code, _, err = call(config, "test.ping", returners="syslog")
        assert (code, err) == (0, "")
        assert json.loads(log.recv(70_000).decode().partition(": ")[2])["return"] is True
