"""dig(1) against a name server of the test's own."""

import shutil
import socketserver
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from minion.execution import CallFailed, Context, Modules

pytestmark = pytest.mark.skipif(shutil.which("dig") is None, reason="dig is not installed")

KINDS = {1: "A", 2: "NS", 5: "CNAME", 12: "PTR", 15: "MX", 16: "TXT", 28: "AAAA"}
ZONE = {
    ("www.example.org", "A"): ["192.0.2.7", "192.0.2.8"],
    ("www.example.org", "AAAA"): ["2001:db8::7"],
    ("alias.example.org", "CNAME"): ["www.example.org"],
    ("alias.example.org", "A"): [("CNAME", "www.example.org"), "192.0.2.7"],
    ("7.2.0.192.in-addr.arpa", "PTR"): ["www.example.org"],
    ("example.org", "MX"): ["10 www.example.org"],
    ("example.org", "NS"): ["www.example.org"],
    ("example.org", "TXT"): ["v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 include:a.example.org ip4:nonsense ~all"],
    ("a.example.org", "TXT"): ["v=spf1 include:example.org redirect=b.example.org"],
    ("b.example.org", "TXT"): ["v=spf1 +ip4:198.51.100.1 -all"],
}


def _name(text: str) -> bytes:
    return b"".join(bytes((len(part),)) + part.encode() for part in text.split(".")) + b"\0"


def _data(kind: str, value: str) -> bytes:
    match kind:
        case "A":
            return bytes(map(int, value.split(".")))
        case "AAAA":
            import ipaddress

            return ipaddress.IPv6Address(value).packed
        case "TXT":
            return bytes((len(value),)) + value.encode()
        case "MX":
            preference, _, host = value.partition(" ")
            return struct.pack("!H", int(preference)) + _name(host)
        case _:
            return _name(value)


class _Answers(socketserver.BaseRequestHandler):
    """Answers with what ZONE has."""

    def handle(self) -> None:
        question, sock = self.request
        end = question.index(b"\0", 12) + 1
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1 : at + 1 + question[at]].decode())
            at += 1 + question[at]
        kinds = {name: number for number, name in KINDS.items()}
        asked = KINDS.get(struct.unpack("!H", question[end : end + 2])[0], "")
        records = ZONE.get((".".join(labels), asked), [])
        body = b""
        for record in records:
            kind, value = record if isinstance(record, tuple) else (asked, record)
            data = _data(kind, value)
            body += b"\xc0\x0c" + struct.pack("!HHIH", kinds[kind], 1, 60, len(data)) + data
        head = question[:2] + struct.pack("!HHHHH", 0x8580, 1, len(records), 0, 0)
        sock.sendto(head + question[12 : end + 4] + body, self.client_address)


@pytest.fixture
def dig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Modules]:
    with socketserver.UDPServer(("127.0.0.1", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        (tmp_path / ".digrc").write_text(f"-p {server.server_address[1]} +noedns +nocookie\n")
        monkeypatch.setenv("HOME", str(tmp_path))
        yield Modules(Context(minion_id="m"))
        server.shutdown()


def test_records(dig: Modules) -> None:
    def ask(fun: str, *args: object, **kwargs: object) -> object:
        return dig.call(f"dig.{fun}", args, {"nameserver": "127.0.0.1", **kwargs})

    assert ask("A", "www.example.org") == ["192.0.2.7", "192.0.2.8"]
    assert ask("a", "alias.example.org") == ["192.0.2.7"], "the name that it stands for is no address"
    assert ask("AAAA", "www.example.org") == ["2001:db8::7"]
    assert ask("CNAME", "alias.example.org") == "www.example.org."
    assert ask("PTR", "192.0.2.7") == ["www.example.org."]
    assert ask("MX", "example.org") == [["10", "www.example.org."]]
    assert ask("MX", "example.org", resolve=True) == [["10", "192.0.2.7"]]
    assert ask("NS", "example.org") == ["192.0.2.7", "192.0.2.8"]
    assert ask("NS", "example.org", resolve=False) == ["www.example.org."]
    assert ask("TXT", "b.example.org") == ['"v=spf1 +ip4:198.51.100.1 -all"']
    assert ask("A", "none.example.org") == []
    allowed = ["192.0.2.0/24", "2001:db8::/32", "198.51.100.1"]
    assert ask("SPF", "example.org") == ask("spf", "example.org", record="TXT") == allowed, "policies in a circle end"
    assert dig.call("dnsutil.A", ["www.example.org"], {"nameserver": "127.0.0.1"}) == ["192.0.2.7", "192.0.2.8"]


def test_a_server_that_does_not_answer(dig: Modules, tmp_path: Path) -> None:
    (tmp_path / ".digrc").write_text("-p 1 +time=1 +tries=1\n")
    assert dig.call("dig.A", ["www.example.org"], {"nameserver": "127.0.0.1"}) == []
    assert dig.call("dig.CNAME", ["www.example.org"], {"nameserver": "127.0.0.1"}) == ""
    for name in "-f/etc/passwd", "@192.0.2.1", "+trace":
        with pytest.raises(CallFailed, match="is no name"):
            dig.call("dig.A", [name])


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("127.0.0.1", True),
        ("10.0.0.0/8", True),
        ("10.0.0.0/0", False),
        ("10.0.0.0/33", False),
        ("10.0.0.0/x", False),
        ("1111:2222:3333:4444:5555:6666:7777:8888", True),
        ("2001:db8::/32", True),
        ("2001:db8::/7", False),
        ("www.example.org", False),
        ("", False),
        (7, False),
    ],
)
def test_addresses(text: object, is_one: bool) -> None:
    assert Modules(Context(minion_id="m")).call("dig.check_ip", [text]) is is_one
