"""The world across the wall: a worker that has no keys, programs or network compiles all the same, and cannot cheat."""

import http.server
import json
import shutil
import socket
import subprocess
import sys
import threading
from contextlib import closing, contextmanager

import gnupg
import msgspec
import pytest

from controller.compilation.compile_messages import CompileRequest
from controller.compilation.compile_pool import CompilePool
from controller.compilation.compile_ports import ports_of
from controller.compilation.compile_rpc import PortCall, ports_over
from controller.compilation.compile_rpc_server import RpcServer
from controller.compilation.sandbox import SandboxPolicy
from controller.compilation.sandbox_policy import sandbox_policy_of
from controller.config.sections import PortOptions, TreeOptions
from controller.config.settings import ControllerSettings
from gitfs.tree.directory import scan
from gitfs.tree.snapshot import Snapshot
from highstate.compile import CompileOptions
from highstate.files import MemoryFiles
from highstate.ports import CompilePorts, DecryptFailed, SecretFailed, SourceFailed
from highstate.types import Minion

WEB = Minion(id="web1", grains={"id": "web1"})
PASSWORD = "correct horse"


@contextmanager
def _site():
    """A web server that says who asks."""

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps({"http": [self.path, bool(self.headers["Authorization"])]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def _request(app, pillar="{}", more_sls="", **more):
    states = {"top.sls": b"base: {'*': [app]}", "app.sls": app.encode(), "more.sls": more_sls.encode()}
    return CompileRequest(
        files=MemoryFiles({"base": states}),
        pillar=MemoryFiles({"base": {"top.sls": b"base: {'*': [p]}", "p.sls": pillar.encode()}}),
        minions=(WEB,),
        **more,
    )


async def _compiled(request, sandbox_policy=SandboxPolicy()):  # noqa: B008  (frozen)
    with closing(CompilePool(sandbox_policy=sandbox_policy, timeout=30.0)) as compiler:
        (answer,) = await compiler.compile(request)
    return answer


async def test_programs_servers_and_folders_are_asked_from_behind_the_wall(tmp_path):
    (tmp_path / "hosts" / "web1").mkdir(parents=True)
    (tmp_path / "hosts" / "web1" / "motd").write_text("hello\n")
    with _site() as url:
        sources = (
            {"cmd_json": """printf '{"cmd": "%s"}'"""},
            {"http_json": {"url": f"{url}/%s", "username": "u", "password": PASSWORD}},
            {"file_tree": str(tmp_path)},
        )
        language = CompileOptions(ext_pillar=sources, master_tops={"ext_nodes": "/bin/sh -c 'echo {classes: [more]}'"})
        answer = await _compiled(
            _request("x: {test.nop: []}", more_sls="y: {test.nop: []}", language=language),
        )
    assert answer.errors == ()
    document = msgspec.msgpack.decode(answer.document)
    assert document["pillar"] == {"cmd": "web1", "http": ["/web1", True], "motd": "hello"}
    assert {chunk["__id__"] for chunk in document["chunks"].values()} == {"x", "y"}


async def test_what_a_source_says_against_it_is_an_error_of_the_minion():
    language = CompileOptions(ext_pillar=({"cmd_json": "echo no >&2; exit 3"},))
    answer = await _compiled(_request("x: {test.nop: []}", language=language))
    assert "ended with 3: no" in str(answer.errors[0])


async def test_what_is_encrypted_is_read_without_the_keys(tmp_path):
    if shutil.which("gpg") is None:
        pytest.skip("GnuPG is not installed")
    tmp_path.chmod(0o700)
    gpg = gnupg.GPG(gnupghome=str(tmp_path))
    given = gpg.gen_key_input(key_type="RSA", key_length=2048, name_email="controller@example.org", no_protection=True)
    message = str(gpg.encrypt(PASSWORD, gpg.gen_key(given).fingerprint, always_trust=True))
    pillar = "#!yaml|gpg\n" + json.dumps({"password": message})
    try:
        good = _request(
            "x: {test.nop: [{name: {{ pillar.password }}}]}", pillar, ports=PortOptions(gpg_keydir=str(tmp_path))
        )
        answer = await _compiled(good)
        without = await _compiled(
            _request("x: {test.nop: []}", pillar, ports=PortOptions(gpg_keydir=str(tmp_path / "gone")))
        )
    finally:
        subprocess.run(["gpgconf", "--homedir", str(tmp_path), "--kill", "gpg-agent"], check=False)
    assert PASSWORD.encode() in answer.document
    assert "gpg_keydir" in str(without.errors[0])


_LOOKS = """#!py
import gc, json, os, socket, subprocess

def tried(deed):
    try:
        return repr(deed())
    except Exception as error:
        return type(error).__name__

def run():
    password = " ".join(["correct", "horse"])
    held = any(password in repr(each) for each in gc.get_objects() if type(each) in (dict, tuple, list))
    found = {{
        "key": tried(lambda: open({key!r}).read()),
        "passwd": tried(lambda: open("/etc/passwd").read()),
        "write": tried(lambda: open({key!r} + ".new", "w")),
        "parent": tried(lambda: open("/proc/%d/environ" % os.getppid()).read()),
        "program": tried(lambda: subprocess.run(["/bin/true"])),
        "net": tried(lambda: socket.create_connection(("127.0.0.1", {port}))),
        "held": held,
    }}
    return {{"x": {{"test.configurable_test_state": [{{"comment": json.dumps(found)}}]}}}}
"""


async def _looked(tmp_path, sandbox_policy):
    key = tmp_path / "controller.key"
    key.write_text("secret key")
    command = f"echo '{{}}' # {PASSWORD}"
    with socket_that_listens() as port:
        app = _LOOKS.format(key=str(key), port=port)
        request = _request(
            app,
            language=CompileOptions(ext_pillar=({"cmd_json": command},)),
            ports=PortOptions(nodegroups={PASSWORD: "*"}),
        )
        answer = await _compiled(request, sandbox_policy)
    assert answer.errors == ()
    (chunk,) = msgspec.msgpack.decode(answer.document)["chunks"].values()
    return json.loads(chunk["comment"])


@contextmanager
def socket_that_listens():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.fixture
def walled():
    """Skips where the kernel has no walls."""
    code = "from controller.compilation.sandbox import *; confine(SandboxPolicy())"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no Landlock here: {done.stderr.splitlines()[-1]}")


async def test_who_breaks_out_of_the_sandbox_finds_nothing(walled, tmp_path):
    found = await _looked(tmp_path, sandbox_policy_of(ControllerSettings(cachedir=tmp_path / "cache")))
    assert found == {
        "key": "PermissionError",
        "passwd": "PermissionError",
        "write": "PermissionError",
        "parent": "PermissionError",
        "program": "PermissionError",
        "net": "PermissionError",
        "held": False,
    }


async def test_it_is_said_how_more_is_granted(walled, tmp_path):
    app = "#!py\ndef run():\n    return open('/etc/passwd').read()\n"
    answer = await _compiled(_request(app), sandbox_policy_of(ControllerSettings(cachedir=tmp_path)))
    assert "/etc/passwd" in answer.errors[0].message
    assert "compile_grants" in answer.errors[0].hint


async def test_what_is_granted_is_let_through(walled, tmp_path):
    grants = ("network", "programs", str(tmp_path))
    found = await _looked(
        tmp_path, sandbox_policy_of(ControllerSettings(cachedir=tmp_path / "cache", compile_grants=grants))
    )
    assert found["key"] == "'secret key'"
    assert "CompletedProcess" in found["program"]
    assert "socket" in found["net"]
    assert found["write"] == found["passwd"] == "PermissionError"
    assert sandbox_policy_of(ControllerSettings(compile_confinement=False)) is None
    assert "root" in (await _looked(tmp_path, None))["passwd"]


async def test_a_folder_that_is_swapped_is_read_on(walled, tmp_path):
    root = tmp_path / "salt"
    settings = ControllerSettings(cachedir=tmp_path / "cache", trees=TreeOptions(file_roots={"base": (str(root),)}))
    with closing(CompilePool(sandbox_policy=sandbox_policy_of(settings))) as compiler:
        for name in ("one", "two"):
            new = tmp_path / "new"
            new.mkdir()
            (new / "top.sls").write_text("base: {'*': [app]}")
            (new / "app.sls").write_text(f"{name}: {{test.nop: []}}")
            if root.exists():
                root.rename(tmp_path / "old")
            new.rename(root)
            request = CompileRequest(
                files=Snapshot(environments={"base": (scan(root),)}),
                pillar=MemoryFiles({"base": {}}),
                minions=(WEB,),
            )
            (answer,) = await compiler.compile(request)
            assert answer.errors == ()
            assert name.encode() in answer.document


async def test_a_worker_that_says_nonsense_costs_its_own_minion():
    nonsense = """#!py
import os
def run():
    for each in range(3, 1024):
        try:
            os.write(each, (4).to_bytes(4, "big") + b"\\xc1xyz")
        except OSError:
            pass
    return {"x": {"test.nop": []}}
"""
    answer = await _compiled(_request(nonsense))
    assert "ended the compile process" in answer.errors[0].message


class TestABroker:
    """What a worker that was taken over may ask."""

    def rpc_server(self):
        language = CompileOptions(ext_pillar=({"cmd_json": "echo '{}'"}, {"git": ["main x"]}, "odd"))
        return RpcServer(ports_of(PortOptions()), language, [WEB])

    def test_entries_are_numbered_and_others_left(self):
        assert self.rpc_server().sealed.ext_pillar == ({"cmd_json": 0}, {"git": ["main x"]}, "odd")

    @pytest.mark.parametrize(
        "call",
        [
            PortCall(port="pillar", minion_id="other", text="{}", entry=0),
            PortCall(port="pillar", minion_id="web1", text="{}", entry=1),
            PortCall(port="pillar", minion_id="web1", text="{", entry=0),
            PortCall(port="tops", minion_id="web1", entry=0),
            PortCall(port="read_secret", minion_id="web1", text="a/b"),
            PortCall(port="decrypt", text="x"),
        ],
    )
    def test_other_questions_have_no_answer(self, call):
        assert "may not have" in self.rpc_server().answer(call).error

    def test_a_command_is_none_of_the_questions(self):
        with pytest.raises(msgspec.ValidationError):
            msgspec.msgpack.decode(
                msgspec.msgpack.encode({"type": "ask", "port": "pillar", "entry": "touch x"}), type=PortCall
            )

    def test_a_source_that_hangs_is_named(self):
        class Hangs:
            def pillar(self, minion, pillar, arguments):
                threading.Event().wait(60)
                return {}

        class Breaks:
            def pillar(self, minion, pillar, arguments):
                raise RuntimeError(PASSWORD)

        ports = CompilePorts(pillar_sources={"hangs": Hangs(), "breaks": Breaks()})
        rpc_server = RpcServer(ports, CompileOptions(ext_pillar=({"hangs": 1}, {"breaks": 2})), [WEB])
        call = PortCall(port="pillar", minion_id="web1", text="{}", entry=0)
        assert "no answer within" in rpc_server.answer(call, within=0.05).error
        said = rpc_server.answer(msgspec.structs.replace(call, entry=1)).error
        assert "RuntimeError" in said
        assert PASSWORD not in said

    def test_errors_keep_their_kind(self):
        ports = ports_over(
            self.rpc_server().answer, self.rpc_server().capabilities._replace(decrypt=True, secrets=True)
        )
        with pytest.raises(DecryptFailed):
            ports.decrypt.decrypt("x")
        with pytest.raises(SecretFailed):
            ports.secrets.read_secret("a", WEB)
        with pytest.raises(SecretFailed):
            ports.secrets.list_secrets("a", WEB)
        with pytest.raises(SourceFailed):
            ports.top_sources["ext_nodes"].tops(WEB, 0)
