"""Record what the programs of Salt print: `python -m tools.oracle.programs VENV`, the folder of one with Salt.

A real master and a real minion are started on this machine, in a folder of their own. What they say is compared with
Saltern's programs by tests/scenarios/test_salt_programs.py. Texts that differ by machine stand as they are: the
tests leave them out.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "salt_programs.json"
GOLDEN_CLIENTS = GOLDEN.with_name("salt_clients.json")
CASES = (
    "salt '*' test.ping --out json",
    "salt '*' test.ping --out json --static",
    "salt '*' test.ping --out json --out-indent -1",
    "salt '*' test.ping --out txt",
    "salt '*' test.ping --out yaml",
    "salt '*' test.ping --out raw",
    "salt '*' test.ping",
    "salt web1 test.echo 'two words' --out json",
    "salt web1 test.echo '[1, {a: b}]' --out json",
    "salt -L web1 test.ping --out json --static",
    "salt -G roles:web test.ping --out json",
    "salt -E 'web[0-9]' test.ping --out json",
    "salt -C 'web* and G@roles:web' test.ping --out json",
    "salt web1 cmd.run 'exit 3' --out json",
    "salt web1 cmd.run 'echo a; echo b' --out json",
    "salt web1 cmd.run pwd cwd=/ --out json",
    "salt web1 no.such --out json",
    "salt nobody test.ping",
    "salt '*' test.ping,test.echo , hello --out json --static",
    "salt '*' test.ping --preview-target --out json",
    "salt '*' test.ping -b 1 --out json --static",
    "salt '*' test.ping --subset 1 --out json",
    "salt '*' test.ping --summary",
    "salt-run test.arg a b=2 --out json",
    "salt-run test.arg a --out json --out-indent=-1",
    "salt-run test.arg 'x=[1, 2]' y=null --out json",
    "salt-run manage.up --out json",
    "salt-run manage.up",
    "salt-run manage.status --out json",
    "salt-run test.metasyntactic --out json",
    "salt-run --async test.sleep 0",
    "salt-key -L",
    "salt-key -L --out json",
    "salt-key -l acc",
    "salt-key -l acc --out json",
    "salt-key -l un --out json",
    "salt-key -a nobody -y",
    "salt-key -f web1 --out json",
    "salt-cp '*' src.txt FOLDER/dst.txt --out json",
    "salt-cp -C '*' src.txt FOLDER/dst2.txt --out json",
    "salt-cp '*' src.txt FOLDER/dst3.txt",
)
"""As typed; `-c` is added."""
CLIENTS = """
import json, os, re, time
import salt.client, salt.config, salt.runner, salt.utils.event, salt.wheel

conf = os.environ["CONF"]
local = salt.client.LocalClient(conf)
opts = salt.config.master_config(conf)
runner, wheel = salt.runner.RunnerClient(opts), salt.wheel.WheelClient(opts)

def later(call):
    jid = local.cmd_async("*", "test.echo", ["later"])
    for _ in range(100):
        if local.get_cache_returns(jid):
            break
        time.sleep(0.1)
    return call(jid)

def fired():
    event = salt.utils.event.get_event("master", sock_dir=opts["sock_dir"], opts=opts)
    event.fire_event({"a": 1}, "my/tag")
    return event.get_event(wait=10, tag="my/tag", full=True)

def full_runner():
    found = runner.cmd("test.arg", ["a", "b=2"], print_event=False, full_return=True)
    return sorted(found)

QUESTIONS = {
    "cmd": lambda: local.cmd("*", "test.ping"),
    "cmd of words": lambda: local.cmd("web1", "test.echo", ["12"]),
    "cmd of a value": lambda: local.cmd("web1", "test.echo", [[1, {"a": None}]]),
    "cmd with kwarg": lambda: local.cmd("web1", "cmd.run", ["pwd"], kwarg={"cwd": "/"}),
    "cmd with a named word": lambda: local.cmd("web1", "cmd.run", ["pwd", "cwd=/"]),
    "cmd, full": lambda: local.cmd("*", "test.ping", full_return=True),
    "cmd that fails, full": lambda: local.cmd("*", "cmd.run", ["exit 3"], full_return=True),
    "cmd of a list": lambda: local.cmd(["web1"], "test.ping", tgt_type="list"),
    "cmd of a text list": lambda: local.cmd("web1,web9", "test.ping", tgt_type="list", timeout=2).get("web1"),
    "cmd of a grain": lambda: local.cmd("roles:web", "test.ping", tgt_type="grain"),
    "cmd of nobody": lambda: local.cmd("nobody", "test.ping"),
    "several": lambda: local.cmd("*", ["test.ping", "test.echo"], [[], ["x"]]),
    "several, full": lambda: local.cmd("*", ["test.ping", "test.echo"], [[], ["x"]], full_return=True),
    "cmd_full_return": lambda: local.cmd_full_return("*", "test.ping"),
    "cmd_iter": lambda: list(local.cmd_iter("*", "test.ping")),
    "cmd_iter_no_block": lambda: [one for one in local.cmd_iter_no_block("*", "test.ping") if one],
    "cmd_cli": lambda: list(local.cmd_cli("*", "test.ping")),
    "cmd_batch": lambda: [sorted(one) for one in local.cmd_batch("*", "test.ping", batch=1)],
    "cmd_subset": lambda: local.cmd_subset("*", "test.ping", subset=1),
    "run_job": lambda: local.run_job("*", "test.ping"),
    "run_job of nobody": lambda: local.run_job("nobody", "test.ping"),
    "cmd_async": lambda: local.cmd_async("*", "test.ping"),
    "cmd_async of nobody": lambda: local.cmd_async("nobody", "test.ping"),
    "get_cache_returns": lambda: {name: one["ret"] for name, one in later(local.get_cache_returns).items()},
    "get_full_returns": lambda: later(lambda jid: local.get_full_returns(jid, ["web1"], 5))["web1"]["ret"],
    "runner": lambda: runner.cmd("test.arg", ["a", "b=2"], print_event=False),
    "runner, full": full_runner,
    "runner manage": lambda: runner.cmd("manage.up", print_event=False),
    "cmd_sync": lambda: runner.cmd_sync({"fun": "test.arg", "arg": ["a"], "kwarg": {"b": 2}}),
    "asynchronous": lambda: sorted(runner.asynchronous("test.sleep", {"arg": [0]})),
    "wheel": lambda: wheel.cmd("key.list_all", print_event=False)["minions"],
    "call_func": lambda: wheel.call_func("key.name_match", match="web*", print_event=False),
    "event": fired,
}
answers = {}
for name, ask in QUESTIONS.items():
    try:
        answers[name] = ask()
    except Exception as error:
        answers[name] = "raises " + type(error).__name__
told = re.sub(r"\\b20\\d{18}\\b", "JID", json.dumps(answers, default=str))
print("ANSWERS " + re.sub(r'"_stamp": "[^"]*"', '"_stamp": "TIME"', told))
"""
"""A script, that runs with the clients of either."""


def main() -> None:
    """Write what Salt says."""
    venv = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _configure(folder)
        started = [
            subprocess.Popen([venv / "bin" / f"salt-{each}", "-c", folder], stderr=subprocess.DEVNULL)
            for each in ("master", "minion")
        ]
        try:
            _wait(venv, folder)
            found = {case: _said(venv, folder, case) for case in CASES}
            clients = subprocess.run(
                [venv / "bin" / "python", "-c", CLIENTS],
                env={**os.environ, "CONF": str(folder / "master")},
                capture_output=True,
                text=True,
                timeout=300,
            )
        finally:
            for process in started:
                process.terminate()
                process.wait()
    GOLDEN.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    if "ANSWERS " not in clients.stdout:
        raise SystemExit(clients.stderr)
    answers = json.loads(clients.stdout.partition("ANSWERS ")[2])
    GOLDEN_CLIENTS.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n")


def _configure(folder: Path) -> None:
    common = f"root_dir: {folder}\nuser: root\nlog_level: quiet\nlog_level_logfile: quiet\npublish_port: 24515\n"
    (folder / "master").write_text(common + "interface: 127.0.0.1\nret_port: 24516\nauto_accept: true\n")
    minion = "id: web1\nmaster: 127.0.0.1\nmaster_port: 24516\ngrains: {roles: [web]}\n"
    (folder / "minion").write_text(common + minion)
    (folder / "src.txt").write_text("hello\n")


def _wait(venv: Path, folder: Path) -> None:
    deadline = time.monotonic() + 120
    while "true" not in _said(venv, folder, CASES[0])["out"] and time.monotonic() < deadline:
        time.sleep(1)


def _said(venv: Path, folder: Path, case: str) -> dict[str, Any]:
    program, *words = shlex.split(case.replace("FOLDER", str(folder)))
    done = subprocess.run(
        [venv / "bin" / program, "-c", folder, *words], cwd=folder, capture_output=True, text=True, timeout=120
    )
    return {"out": done.stdout.replace(str(folder), "FOLDER"), "code": done.returncode}


if __name__ == "__main__":
    main()
