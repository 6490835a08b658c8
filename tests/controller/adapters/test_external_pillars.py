"""External pillars by their real adapters: commands, a web server, folders."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from controller.adapters.external_pillars import CommandSource
from controller.compilation.compile_ports import ports_of
from controller.config.sections import PortOptions
from highstate.compile import CompileOptions, compile_minion
from highstate.files import MemoryFiles
from highstate.ports import SourceFailed
from highstate.types import Minion

WEB = Minion(id="web1", grains={"id": "web1", "os": "Debian", "deep": {"x": "a/b"}})


def source(name, **options):
    return ports_of(PortOptions(**options)).pillar_sources[name]


class TestCommands:
    def test_output_is_pillar(self):
        assert source("cmd_json").pillar(WEB, {}, 'printf \'{"id": "%s"}\'') == {"id": "web1"}
        assert source("cmd_yaml").pillar(WEB, {}, "echo 'a: 0644' | cat") == {"a": 644}
        assert source("cmd_yaml").pillar(WEB, {}, "true") == {}

    def test_an_id_cannot_become_a_command(self, tmp_path):
        trap = tmp_path / "trap"
        evil = Minion(id=f"x; touch {trap}")
        with pytest.raises(SourceFailed):
            source("cmd_json").pillar(evil, {}, "echo %s")
        assert not trap.exists()

    @pytest.mark.parametrize(
        ("command", "says"),
        [
            ("echo no >&2; exit 3", "ended with 3: no"),
            ("echo '{'", "cannot be read"),
            ("echo '[]'", "a list"),
            ("", "takes a command"),
        ],
    )
    def test_failures(self, command, says):
        with pytest.raises(SourceFailed, match=says):
            source("cmd_json").pillar(WEB, {}, command)

    def test_a_command_is_bounded(self):
        with pytest.raises(SourceFailed, match=r"more than 0\.2 s"):
            CommandSource(json.loads, timeout=0.2).pillar(WEB, {}, "sleep 60 | cat")


class Site(BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    def do_GET(self):
        self.send_response(404 if "gone" in self.path else 200)
        body = {"path": self.path, "auth": self.headers.get("Authorization"), "x": self.headers.get("X-Own")}
        data = b"[" if "broken" in self.path else json.dumps(body).encode()
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *ignored):
        pass


@pytest.fixture(scope="module")
def site():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class TestHttp:
    def test_answers_are_pillar(self, site):
        arguments = {
            "url": f"{site}/%s/<os>/<deep:x>",
            "with_grains": ["os"],
            "username": "u",
            "password": "p",
            "header_dict": {"X-Own": 1},
        }
        found = source("http_json").pillar(WEB, {}, arguments)
        assert found == {"path": "/web1/Debian/a%2Fb?os=Debian", "auth": "Basic dTpw", "x": "1"}
        assert source("http_yaml").pillar(WEB, {}, {"url": site})["path"] == "/"

    @pytest.mark.parametrize(
        ("path", "says"), [("/gone", "answers 404"), ("/broken", "cannot be read"), ("/<nope>", "no grain 'nope'")]
    )
    def test_failures(self, site, path, says):
        with pytest.raises(SourceFailed, match=says):
            source("http_json").pillar(WEB, {}, {"url": site + path})

    def test_a_server_that_is_away(self):
        with pytest.raises(SourceFailed, match="cannot be asked"):
            source("http_yaml").pillar(WEB, {}, {"url": "http://127.0.0.1:9/"})


class TestFileTree:
    def tree(self, tmp_path):
        root = tmp_path / "tree"
        for path, data in {
            "hosts/web1/ssl/key": b"KEY\n",
            "hosts/web1/bin": b"\xff\n",
            "hosts/other/x": b"no",
            "nodegroups/webs/ssl/ca": b"CA\n",
            "nodegroups/dbs/y": b"no",
        }.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
        (tmp_path / "outside").write_text("secret")
        (root / "hosts/web1/link").symlink_to(tmp_path / "outside")
        return root

    def test_files_of_the_host_and_its_groups(self, tmp_path):
        root = self.tree(tmp_path)
        groups = {"webs": "web*", "dbs": "db*"}
        found = source("file_tree", nodegroups=groups).pillar(WEB, {}, {"root_dir": str(root)})
        assert found == {"ssl": {"ca": "CA", "key": "KEY"}, "bin": b"\xff"}
        kept = source("file_tree").pillar(WEB, {}, {"root_dir": str(root), "keep_newline": ["ssl/*"]})
        assert kept["ssl"] == {"key": "KEY\n"}

    @pytest.mark.parametrize("root", ["relative", "/does/not/exist", None])
    def test_failures(self, root):
        with pytest.raises(SourceFailed, match="absolute path"):
            source("file_tree").pillar(WEB, {}, {"root_dir": root})

    def test_an_id_cannot_lead_out(self, tmp_path):
        with pytest.raises(SourceFailed, match="no name of a folder"):
            source("file_tree").pillar(Minion(id="../other"), {}, {"root_dir": str(self.tree(tmp_path))})


def test_a_compile_with_two_sources(site):
    settings = CompileOptions(ext_pillar=({"cmd_yaml": "echo 'a: {b: 1}'"}, {"http_json": {"url": f"{site}/%s"}}))
    tree = MemoryFiles({"base": {"top.sls": b"base:\n  '*': [s]\n", "s.sls": b"{{ pillar.path }}: {test.nop: []}"}})
    done = compile_minion(tree, MemoryFiles({}), WEB, settings, None, ports_of(PortOptions()))
    assert [chunk.id for chunk in done.lowstate] == ["/web1"]
    assert done.pillar["a"] == {"b": 1}
