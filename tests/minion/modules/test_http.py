"""http.query of the module and of the state: certificates, cookies, forms and files, against a server of the tests."""

import http.server
import json
import ssl
import threading

import pytest
import trustme

from minion.execution import CallFailed, Context, Modules
from minion.machine.machine import LocalMachine


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    def _answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        said = {"path": self.path, "method": self.command, "headers": dict(self.headers), "body": body}
        data = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Set-Cookie", f"seen={len(self.headers.get('Cookie', ''))}; Path=/; Max-Age=3600")
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = _answer  # noqa: N815 - http.server's

    def log_message(self, *words):
        """Nothing."""


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture(scope="module")
def servers(authority):
    """Addresses: of a plain server, of one with a certificate of the authority, of one that wants one of the client."""
    contexts = [None, *(ssl.create_default_context(ssl.Purpose.CLIENT_AUTH) for _ in range(2))]
    running = []
    for context in contexts:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
        if context is not None:
            authority.issue_cert("127.0.0.1").configure_cert(context)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        running.append((server, thread))
    contexts[2].verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(contexts[2])
    schemes = ("http", "https", "https")
    yield [f"{scheme}://127.0.0.1:{one.server_port}" for scheme, (one, _) in zip(schemes, running, strict=True)]
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def call(tmp_path):
    minion = Context(minion_id="m")

    def asked(url, *words, **options):
        return Modules(minion).call("http.query", (url, *words), options)

    return asked


def echoed(answer):
    return json.loads(answer["body"])


def test_what_is_sent(servers, call, tmp_path):
    plain = servers[0]
    (tmp_path / "data").write_text("a={{ number }}")
    (tmp_path / "headers").write_text("X-One: 1\nX-Two: {{ number }}\n")
    files = {"data_file": f"{tmp_path}/data", "header_file": f"{tmp_path}/headers", "template_dict": {"number": 7}}
    said = echoed(call(f"{plain}/x", "POST", data_render=True, header_render=True, params={"q": "a b"}, **files))
    assert (said["path"], said["body"], said["headers"]["X-Two"]) == ("/x?q=a+b", "a=7", "7")
    assert echoed(call(plain, "POST", **files))["body"] == "a={{ number }}"
    said = echoed(call(plain, agent="me", auth=["joe", "sesame"]))
    assert (said["headers"]["User-Agent"], said["headers"]["Authorization"]) == ("me", "Basic am9lOnNlc2FtZQ==")
    form = {"formdata": True, "formdata_fieldname": "file", "formdata_filename": "a.txt", "data": "content"}
    said = echoed(call(plain, "POST", **form))
    assert said["headers"]["Content-Type"].startswith("multipart/form-data; boundary=")
    assert 'name="file"; filename="a.txt"\r\n\r\ncontent\r\n' in said["body"]
    for wrong, why in (({"formdata": True}, "formdata_fieldname is required"),
                       ({**form, "formdata_fieldname": 'a"'}, "quotes"),
                       ({"cookies": True, "cookie_format": "tin"}, "cookie_format")):  # fmt: skip
        with pytest.raises(CallFailed, match=why):
            call(plain, "POST", **wrong)


def test_cookies_are_kept(servers, call, tmp_path):
    for kind in ("lwp", "mozilla"):
        jar = {"cookies": True, "cookie_jar": f"{tmp_path}/{kind}", "cookie_format": kind}
        assert "Cookie" not in echoed(call(servers[0], **jar))["headers"]
        assert echoed(call(servers[0], **jar))["headers"]["Cookie"] == "seen=0"
        assert (tmp_path / kind).stat().st_mode & 0o777 == 0o600
    (tmp_path / "lwp").write_text("no cookies")
    with pytest.raises(CallFailed, match="does not look like"):
        call(servers[0], cookies=True, cookie_jar=f"{tmp_path}/lwp")


def test_answers_go_to_files(servers, call, tmp_path):
    out = {f"{part}_out": f"{tmp_path}/{part}" for part in ("text", "headers", "decode")}
    call(servers[0], decode=True, **out)
    assert json.loads((tmp_path / "text").read_text())["method"] == "GET"
    assert "Set-Cookie" in json.loads((tmp_path / "headers").read_text())
    assert json.loads((tmp_path / "decode").read_text())["path"] == "/"


def test_certificates(servers, call, converge, authority, tmp_path):
    _, tls, mutual = servers
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    own = authority.issue_cert("client.example.org")
    own.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "own.pem"))
    trusted = {"ca_bundle": f"{tmp_path}/ca.pem"}
    assert "certificate" in call(tls)["error"].lower()
    assert "body" in call(tls, verify_ssl=False)
    assert "body" in call(tls, **trusted)
    assert "error" in call(mutual, **trusted)
    assert "body" in call(mutual, cert=f"{tmp_path}/own.pem", **trusted)
    with pytest.raises(CallFailed, match="ca_bundle, cert"):
        call(tls, ca_bundle=f"{tmp_path}/none.pem")
    assert converge("http.query", tls, status=200).result is False
    assert converge("http.query", tls, status=200, verify_ssl=False).result is True
    assert converge("http.query", mutual, status=200, cert=[f"{tmp_path}/own.pem"], **trusted).result is True
    assert "ca_bundle" in converge("http.query", tls, status=200, ca_bundle=f"{tmp_path}/none.pem").comment


def test_the_state_sends_it_too(servers, converge, tmp_path):
    given = {"params": {"q": 1}, "header_list": ["X-One: 1"], "auth": ["joe", "sesame"], "agent": "me"}
    for match in ('"path": "/?q=1"', '"X-One": "1"', "Basic am9lOnNlc2FtZQ==", '"User-Agent": "me"'):
        assert converge("http.query", servers[0], match=match, **given).result is True
    assert "a name and a password" in converge("http.query", servers[0], status=200, auth=["joe"]).comment
    gone = converge("http.query", servers[0], status=200, method="POST", data_file=f"{tmp_path}/none")
    assert gone.comment == f"{tmp_path}/none: No such file or directory"
    refused = converge("http.query", servers[0], status=200, cookies=True)
    assert "use module.run with http.query" in refused.comment


def test_a_file_is_posted_by_the_state(servers, tmp_path):
    from minion.engine import registry

    (tmp_path / "data").write_text("content")
    arguments = {"status": 200, "match": '"body": "content"', "method": "POST", "data_file": f"{tmp_path}/data"}
    machine = LocalMachine(sources_port=None)
    plan = registry.find("http", "query", "s").plan(machine, servers[0], arguments)
    assert (plan.each_time, plan.changes[0].act(machine)) == (True, None)
