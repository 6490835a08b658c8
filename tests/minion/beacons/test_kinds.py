"""What each beacon finds: on files, sockets and programs that are really there."""

from __future__ import annotations

import http.server
import json
import os
import socket
import struct
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from minion.beacons.beacon import BeaconFailed, World
from minion.beacons.kinds import inotify, journald, logins
from minion.beacons.registry import MODULES, NOT_HERE, kind_of, unknown

NOW = 1_800_000_000.0


def world(now=NOW, **functions):
    return World({name.replace("__", "."): function for name, function in functions.items()}, lambda: now)


def look(name, options, memory=None, the_world=None):
    kind = kind_of(name)
    assert list(kind.check(options)) == []
    return kind.look(options, {} if memory is None else memory, the_world or world())


def complaints(name, options):
    return [f"{'/'.join(where)}: {what}" for where, what in kind_of(name).check(options)]


def until(watch, wanted):
    """What a watch finds, until there is what is wanted."""
    found = []
    deadline = time.monotonic() + 60
    while not wanted(found) and time.monotonic() < deadline:
        found += watch.look()
        time.sleep(0.01)
    return found


def test_each_beacon_is_checked_and_looks_or_watches():
    for name in MODULES:
        kind = kind_of(name)
        assert (kind.look is None) != (kind.watch is None)
        list(kind.check({}))
    assert "use `inotify`" in unknown("watchdog")
    assert not set(NOT_HERE) & set(MODULES)


def test_load_tells_what_leaves_its_bounds(monkeypatch):
    loads = iter([(1.0, 1.0, 1.0), (3.0, 1.0, 1.0), (3.5, 1.0, 1.0), (-1.0, 1.0, 1.0)])
    monkeypatch.setattr(os, "getloadavg", lambda: next(loads))
    options = {"averages": {"1m": [0.0, 2.0]}, "onchangeonly": True}
    memory = {}
    assert [len(look("load", options, memory)) for _ in range(4)] == [0, 1, 0, 1]
    assert "averages/2m: 2m is no load average" in complaints("load", {"averages": {"2m": [0, 1]}})[0]
    assert complaints("load", {"averages": {"1m": [0]}})


@pytest.mark.parametrize("name", ["memusage", "swapusage"])
def test_memory_beyond_a_threshold(name):
    [found] = look(name, {"percent": "0%"})
    assert set(found) == {name}
    assert look(name, {"percent": 101}) == []
    assert complaints(name, {"percent": "x"}) == ["percent: percent must be a percentage, as 63%, not 'x'"]


def test_disks_by_mount_point_and_by_pattern():
    [found] = look("diskusage", {"/": "0%"})
    assert found["mount"] == "/"
    assert 0 <= found["diskusage"] <= 100
    assert {"/"} < {one["mount"] for one in look("diskusage", {"^/.*": 0})}
    assert look("diskusage", {"/": "100.1%"}) == []
    assert complaints("diskusage", {})
    assert complaints("diskusage", {"(": "1%"})


def test_processes_by_name():
    own = Path("/proc/self/comm").read_text().strip()
    options = {"processes": {own: "running", "no-such-process": "stopped", "nor-this": True}}
    assert look("ps", options) == [{own: "Running"}, {"no-such-process": "Stopped"}, {"nor-this": False}]


def test_processors_since_the_last_look():
    memory = {}
    assert look("cpu", {"percent": 0}, memory) == []
    memory["total"] -= 1000
    [found] = look("cpu", {"percent": 0}, memory)
    assert 0 <= found["cpu"] <= 100


def test_counters_of_interfaces():
    [found] = look("network_info", {"interfaces": {"lo": {"type": "greater", "bytes_sent": -0}}}) or [None]
    if found is not None:
        assert set(found["network_info"]) >= {"bytes_sent", "errin", "dropout"}
    assert look("network_info", {"interfaces": {"lo": {"type": "greater", "errin": 10**15}}}) == []
    assert complaints("network_info", {"interfaces": {"lo": {"x": 1}}})


def test_services_that_change():
    states = iter([True, True, False, False, True])
    of = world(service__status=lambda name: next(states))
    memory = {}
    found = [look("service", {"services": {"web": {"onchangeonly": True}}}, memory, of) for _ in range(5)]
    assert [bool(one) for one in found] == [True, False, True, False, True]
    assert found[2] == [{"web": {"running": False}, "service_name": "web", "tag": "web"}]
    assert kind_of("service").bad({"services": {"web": None}}, {"web": {"running": False}})


def test_packages_that_change():
    versions = iter(["1", "1", "", "2"])
    of = world(pkg__version=lambda name: next(versions), pkg__latest_version=lambda name, refresh: "")
    memory = {}
    found = [look("pkg", {"pkgs": ["zsh"]}, memory, of) for _ in range(4)]
    assert found[:2] == [[], []]
    assert found[2] == [{"pkg": "zsh", "version": None, "status": "not-installed"}]
    assert found[3] == [{"pkg": "zsh", "version": "2", "status": "installed"}]


def test_status_takes_what_is_wanted():
    of = world(status__loadavg=lambda: {"1-min": 1.0, "5-min": 2.0}, status__w=lambda: ["a", "b"])
    [found] = look("status", {"loadavg": ["1-min"], "w": [1]}, {}, of)
    assert found["data"] == {"loadavg": {"1-min": 1.0}, "w": {1: "b"}}
    with pytest.raises(BeaconFailed, match=r"no function status\.nothing"):
        look("status", {"nothing": ["all"]}, {}, of)


def test_certificates_that_expire(tmp_path):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "web1")])
    now = datetime.fromtimestamp(NOW, UTC)
    certificate = (
        x509.CertificateBuilder(subject_name=name, issuer_name=name, public_key=key.public_key(), serial_number=5)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=10))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("web1.example.org")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "a.pem"
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    [found] = look("cert_info", {"files": [str(path)]})
    [told] = found["certificates"]
    assert (told["subject_dict"], told["has_expired"], told["serial_number"]) == ({"CN": "web1"}, False, 5)
    assert told["extensions"] == [{"ext_name": "subjectAltName", "ext_data": "DNS:web1.example.org"}]
    assert look("cert_info", {"files": [{str(path): {"notify_days": 5}}]}) == []
    with pytest.raises(BeaconFailed, match="no-such"):
        look("cert_info", {"files": [str(tmp_path / "no-such.pem")]})


class _Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"certificate": {"status": "down"}}).encode()
        self.send_response(503 if self.path == "/bad" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def test_answers_of_a_server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        status = [{"value": 400, "comp": "<"}]
        content = [{"path": "certificate:status", "value": "up", "comp": "=="}]
        assert look("http_status", {"sites": {"a": {"url": url, "status": status}}}) == []
        [bad] = look("http_status", {"sites": {"a": {"url": f"{url}/bad", "status": status}}})
        assert bad == {"expected": 400, "received": 503, "url": f"{url}/bad", "path": ""}
        [down] = look("http_status", {"sites": {"a": {"url": url, "content": content}}})
        assert (down["received"], down["path"]) == ("down", "certificate:status")
        server.shutdown()
    [gone] = look("http_status", {"sites": {"a": {"url": url, "timeout": 5}}})
    assert gone["status_code"] == 0
    assert complaints("http_status", {"sites": {"a": {"url": "file:///etc/passwd"}}})


def test_sessions_of_haproxy(tmp_path):
    path = str(tmp_path / "haproxy.sock")
    rows = b"# pxname,svname,qcur,qmax,scur,smax\nwww,web1,0,0,50,60\nwww,web2,0,0,3,60\n\n"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()

        def answer():
            peer, _ = listening.accept()
            with peer:
                peer.recv(100)
                peer.sendall(rows)

        thread = threading.Thread(target=answer)
        thread.start()
        options = {"socket": path, "backends": {"www": {"threshold": 45, "servers": ["web1", "web2"]}}}
        assert look("haproxy", options) == [{"server": "web1", "scur": 50, "threshold": 45}]
        thread.join()
    with pytest.raises(BeaconFailed, match="haproxy's socket"):
        look("haproxy", {**options, "socket": str(tmp_path / "none")})


def test_logins_from_the_end_on(tmp_path):
    path = tmp_path / "wtmp"

    def record(user):
        return struct.pack("hi32s4s32s256shhiii4i20x", 7, 42, b"pts/0", b"", user, b"host", 0, 0, 0, 1, 2, 0, 0, 0, 0)

    path.write_bytes(record(b"before"))
    watch = logins.LoginsWatch(str(path), {"users": {"ann": None}}, world())
    with path.open("ab") as file:
        file.write(record(b"ann") + record(b"bob"))
    [found] = until(watch, lambda found: found)
    assert (found["user"], found["line"], found["PID"], found["type"]) == ("ann", "pts/0", 42, 7)
    path.rename(tmp_path / "wtmp.1")
    path.write_bytes(record(b"ann"))
    assert len(until(watch, lambda found: found)) == 1
    watch.close()


def test_the_journal_is_followed(tmp_path, monkeypatch):
    program = tmp_path / "journalctl"
    entry = json.dumps({"SYSLOG_IDENTIFIER": "sshd", "PRIORITY": "6", "MESSAGE": "hello"})
    program.write_text(f"#!/bin/sh\necho '{entry}'\necho '{{\"SYSLOG_IDENTIFIER\": \"cron\"}}'\nsleep 600\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    watch = journald.JournalWatch({"services": {"ssh": {"SYSLOG_IDENTIFIER": "sshd", "PRIORITY": 6}}}, world())
    assert until(watch, lambda found: found) == [
        {"SYSLOG_IDENTIFIER": "sshd", "PRIORITY": 6, "MESSAGE": "hello", "tag": "ssh"}
    ]
    watch.close()


def test_new_folders_are_entered_and_what_is_excluded_is_not_told(tmp_path):
    given = {"mask": ["create", "delete"], "recurse": True, "auto_add": True, "exclude": [f"{tmp_path}/out"]}
    watch = inotify.InotifyWatch({"files": {str(tmp_path): given}}, world())
    (tmp_path / "out").mkdir()
    (tmp_path / "out/x").touch()
    (tmp_path / "in/deep").mkdir(parents=True)
    (tmp_path / "in/deep/x").touch()
    paths = [one["path"] for one in until(watch, lambda found: any(one["path"].endswith("deep/x") for one in found))]
    assert f"{tmp_path}/in" in paths
    assert not any(path.startswith(f"{tmp_path}/out") for path in paths)
    (tmp_path / "in/deep/x").unlink()
    assert until(watch, lambda found: found)[0]["change"] == "IN_DELETE"
    watch.close()


def test_a_file_that_is_replaced_is_watched_again(tmp_path):
    path = tmp_path / "a"
    path.write_text("1")
    watch = inotify.InotifyWatch({"files": {str(path): {"mask": ["modify", "close_write"]}}}, world())
    (tmp_path / "new").write_text("2")
    (tmp_path / "new").replace(path)
    deadline = time.monotonic() + 60
    found = []
    while not any(one["change"] == "IN_CLOSE_WRITE" for one in found) and time.monotonic() < deadline:
        found += watch.look()
        path.write_text("3")
    assert found
    watch.close()


def test_a_name_that_is_no_event_is_refused():
    assert "is no event of inotify" in complaints("inotify", {"files": {"/etc": {"mask": ["modified"]}}})[0]
    assert "absolute path" in complaints("inotify", {"files": {"etc": {}}})[0]
