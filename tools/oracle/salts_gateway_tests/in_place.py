"""What stands where Salt's tests start `salt-master`: a controller and the gateway, by that master's configuration.

    python -m tools.oracle.salts_gateway_tests.in_place -c FOLDER

FOLDER/master is what the tests have written for a salt-master. What of it a controller has goes into FOLDER/controller,
so that the programs with Salt's names find it by the same `-c`. The key is that of the master's `pki_dir`, so that two
of them can share it, as the tests have two masters do. Events go to the tests as those of a master do, which
an engine of theirs sends: mappings of msgpack with `id`, `tag` and `data`, over TCP. Nobody is accepted by hand.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgpack
import yaml
from cryptography.hazmat.primitives import serialization

SALTERN = str(Path(sys.executable).with_name("saltern"))
_TAKEN = (
    *("file_roots", "pillar_roots", "nodegroups", "peer", "peer_run", "timeout", "pillar_opts"),
    *("file_recv", "top_file_merging_strategy", "state_events", "presence_events"),
)
_PILLARS = ("cmd_yaml", "cmd_json", "file_tree")
_POLICY = {"drift": {"interval": 0}, "prune": "off", "missing_source": "fail_state", "facts": ["runtests_helpers.*"]}
PATIENCE = 90.0


def main() -> int:
    """Start both, tell the tests, forward events until told to stop."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-c", "--config-dir", type=Path, required=True)
    options, _ = parser.parse_known_args()
    signal.signal(signal.SIGTERM, _stop)
    master: dict[str, Any] = yaml.safe_load((options.config_dir / "master").read_text())
    with tempfile.TemporaryDirectory(prefix="saltern-", dir="/tmp") as name:
        return _serve(master, options.config_dir, Path(name))


def _serve(master: Mapping[str, Any], config_dir: Path, folder: Path) -> int:
    ports = _free_ports(3)
    (config_dir / "controller").write_text(yaml.safe_dump(_controller(master, folder, ports)))
    started: list[subprocess.Popen[bytes]] = []
    try:
        logs = _logs(master, folder)
        started.append(_start(logs, "controller", "-c", str(config_dir)))
        key = json.loads(_wait(started, lambda: _asked(config_dir, "key", "controller", "--out", "json")))["public"]
        events = subprocess.Popen(
            [SALTERN, "events", "--out", "json", "-c", str(config_dir)], stdout=subprocess.PIPE, text=True
        )
        started.append(events)  # type: ignore[arg-type]
        gateway = _gateway(master, folder, ports, key)
        (folder / "gateway").write_text(yaml.safe_dump(gateway))
        started.append(_start(logs, "gateway", "-c", str(folder)))
        _wait(started, lambda: _listens(gateway["interface"], gateway["ret_port"]))
        _show_public_key(_pki(master))
        return _forward(master, events)
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(20)


def _logs(master: Mapping[str, Any], folder: Path) -> Path:
    """The folder of the logs of both: by SALT_TESTS_LOGS one that stays."""
    kept = os.environ.get("SALT_TESTS_LOGS")
    logs = Path(kept, f"{master['id']}-{os.getpid()}") if kept else folder
    logs.mkdir(parents=True, exist_ok=True)
    return logs


def _controller(master: Mapping[str, Any], folder: Path, ports: tuple[int, int, int]) -> dict[str, Any]:
    """The options of a controller that are to be those of the master."""
    policy = folder / "policy"
    policy.mkdir()
    (policy / "saltern.yaml").write_text(yaml.safe_dump(_POLICY))
    found = {name: master[name] for name in _TAKEN if name in master}
    roots = {env: list(folders) for env, folders in master.get("file_roots", {}).items()}
    roots.setdefault("base", []).append(str(policy))
    given = [one for one in master.get("ext_pillar", ()) if next(iter(one)) in _PILLARS]
    return {
        **{**found, "file_roots": roots, "ext_pillar": given},
        "state_top_saltenv": "",  # top files of all saltenvs count, as for Salt
        **{"interface": "127.0.0.1", "publish_port": ports[0], "ret_port": ports[1], "http_port": 0},
        **{"root_dir": str(Path(master["root_dir"]) / "saltern"), "sock_dir": str(folder), "auto_accept": True},
    }


def _gateway(master: Mapping[str, Any], folder: Path, ports: tuple[int, int, int], key: str) -> dict[str, Any]:
    pki = _pki(master)
    return {
        **{"controller": "127.0.0.1", "controller_key": key, "controller_publish_port": ports[0]},
        **{"controller_port": ports[1], "interface": master["interface"], "publish_port": master["publish_port"]},
        **{"ret_port": master["ret_port"], "pki_dir": str(pki), "cachedir": str(folder / "cache")},
    }


def _pki(master: Mapping[str, Any]) -> Path:
    return Path(str(master["root_dir"]), str(master["pki_dir"]))


def _show_public_key(pki: Path) -> None:
    """Write `master.pub`, which the tests copy with `master.pem`."""
    private = serialization.load_pem_private_key((pki / "master.pem").read_bytes(), None)
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    (pki / "master.pub").write_bytes(private.public_key().public_bytes(serialization.Encoding.PEM, form))


def _forward(master: Mapping[str, Any], events: subprocess.Popen[str]) -> int:
    address = master["pytest-master"]["returner_address"]
    own = str(master["id"])
    with socket.create_connection((address["host"], address["port"])) as listener:

        def tell(tag: str, data: Mapping[str, Any], at: float) -> None:
            stamp = datetime.datetime.fromtimestamp(at, datetime.UTC).replace(tzinfo=None).isoformat()
            listener.sendall(msgpack.packb({"id": own, "tag": tag, "data": {**data, "_stamp": stamp}}, default=str))

        tell(f"salt/master/{own}/start", {}, time.time())
        assert events.stdout is not None  # noqa: S101 (it was asked for)
        for line in events.stdout:
            event = json.loads(line)
            tell(event["tag"], event["data"], event["time"])
    return events.wait()


def _start(logs: Path, *words: str) -> subprocess.Popen[bytes]:
    with (logs / f"{words[0]}.log").open("wb") as log:
        return subprocess.Popen([SALTERN, *words], stdout=log, stderr=log)


def _asked(config_dir: Path, *words: str) -> str:
    done = subprocess.run([SALTERN, *words, "-c", config_dir], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def _listens(address: str, port: int) -> bool:
    with socket.socket() as probe:
        return not probe.connect_ex((address, port))


def _wait(started: list[subprocess.Popen[bytes]], ask: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (answer := ask()):
        if time.monotonic() > deadline or any(process.poll() is not None for process in started):
            raise SystemExit("the controller or the gateway does not come up")
        time.sleep(0.1)
    return answer


def _free_ports(count: int) -> tuple[int, int, int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(each.getsockname()[1]) for each in held]
    for each in held:
        each.close()
    return ports[0], ports[1], ports[2]


def _stop(number: int, frame: object) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main())
