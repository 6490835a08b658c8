"""A client of ZMTP and CURVE by hand, for what libzmq's own never sends: a message of many frames that does not end.

Used by the attacks and by tests/wire. Handshake and messages are those of rfc.zeromq.org/spec/26, boxes those of NaCl
(crypto_box: X25519, XSalsa20, Poly1305), in plain Python: about 10,000 small frames a second, and no constant time.
"""

from __future__ import annotations

import hmac
import os
import socket
import struct

from zmq.utils import z85

from wire.keys import KeyPair

_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"CURVE".ljust(20, b"\0") + b"\0" + bytes(31)
_LONG, _COMMAND = 0x02, 0x04
_PRIME = 2**255 - 19
_SIGMA = struct.unpack("<4I", b"expand 32-byte k")
_ROUND = (
    *((0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11)),
    *((0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14)),
)
"""Words of the quarter rounds of Salsa20: columns, then rows."""


class HandshakeBroken(Exception):
    """The server has ended the handshake."""


class CurveClient:
    """One connection of a DEALER to a server, after its handshake.

    Args:
        host, port: of the server.
        server_key: its public key in Z85.
        keys: of the client.
    """

    def __init__(self, host: str, port: int, server_key: str, keys: KeyPair) -> None:
        self._nonce = 0
        self._socket = socket.create_connection((host, port), timeout=10)
        try:
            self._socket.sendall(_GREETING)
            self._read(64)
            self._shared = self._shake_hands(z85.decode(server_key), z85.decode(keys.public), z85.decode(keys.secret))
        except BaseException:
            self.close()
            raise

    def send_frame(self, payload: bytes, *, more: bool) -> None:
        """Send one frame of a message; OSError when the server has ended the connection."""
        body = self._next(b"CurveZMQMESSAGEC", bytes([more]) + payload, self._shared)
        self._send(0, b"\x07MESSAGE" + body)

    def ended(self, within: float) -> bool:
        """Whether the server ends the connection within so many seconds."""
        self._socket.settimeout(within)
        try:
            while self._socket.recv(65536):
                pass
        except TimeoutError:
            return False
        except OSError:
            return True
        return True

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def _shake_hands(self, server: bytes, public: bytes, secret: bytes) -> bytes:
        """The key that both sides share from here on."""
        own_secret = os.urandom(32)
        own_public = _multiply(own_secret, (9).to_bytes(32, "little"))
        first = shared_key(own_secret, server)
        hello = b"\x05HELLO\x01\x00" + bytes(72) + own_public
        self._send(_COMMAND, hello + self._next(b"CurveZMQHELLO---", bytes(64), first))
        welcome = self._read_frame()
        opened = open_box(first, b"WELCOME-" + welcome[8:24], welcome[24:])
        peer, cookie = opened[:32], opened[32:]
        shared, nonce = shared_key(own_secret, peer), os.urandom(16)
        vouch = nonce + seal_box(shared_key(secret, peer), b"VOUCH---" + nonce, own_public + server)
        routing = b"\x01" + os.urandom(16)
        metadata = _property(b"Socket-Type", b"DEALER") + _property(b"Identity", routing)
        box = self._next(b"CurveZMQINITIATE", public + vouch + metadata, shared)
        self._send(_COMMAND, b"\x08INITIATE" + cookie + box)
        if not self._read_frame().startswith(b"\x05READY"):
            raise HandshakeBroken("the server does not let this key in")
        return shared

    def _next(self, prefix: bytes, text: bytes, key: bytes) -> bytes:
        """A box with the next nonce before it."""
        self._nonce += 1
        short = struct.pack(">Q", self._nonce)
        return short + seal_box(key, prefix + short, text)

    def _send(self, flags: int, body: bytes) -> None:
        long = len(body) > 255
        head = struct.pack(">BQ", flags | _LONG, len(body)) if long else struct.pack(">BB", flags, len(body))
        self._socket.sendall(head + body)

    def _read_frame(self) -> bytes:
        flags = self._read(1)[0]
        return self._read(int.from_bytes(self._read(8 if flags & _LONG else 1), "big"))

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise HandshakeBroken("the server has closed the connection")
            data += part
        return data


def shared_key(secret: bytes, public: bytes) -> bytes:
    """What NaCl calls `crypto_box_beforenm`."""
    state = _rounds(_state(_multiply(secret, public), bytes(16)))
    return struct.pack("<8I", *(state[at] for at in (0, 5, 10, 15, 6, 7, 8, 9)))


def seal_box(key: bytes, nonce: bytes, text: bytes) -> bytes:
    """Encrypted and authenticated; the nonce has 24 bytes."""
    stream = _stream(key, nonce, 32 + len(text))
    cipher = _xor(text, stream[32:])
    return _authenticator(stream[:32], cipher) + cipher


def open_box(key: bytes, nonce: bytes, box: bytes) -> bytes:
    """The text; HandshakeBroken when somebody else has made the box."""
    stream = _stream(key, nonce, 16 + len(box))
    if not hmac.compare_digest(_authenticator(stream[:32], box[16:]), box[:16]):
        raise HandshakeBroken("a box that does not open")
    return _xor(box[16:], stream[32:])


def _property(name: bytes, value: bytes) -> bytes:
    return bytes([len(name)]) + name + struct.pack(">I", len(value)) + value


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(left, right, strict=True))


def _multiply(scalar: bytes, point: bytes) -> bytes:
    """X25519 (RFC 7748, section 5)."""
    number = int.from_bytes(scalar, "little") & ~7 & (2**255 - 1) | 2**254
    base = int.from_bytes(point, "little") & (2**255 - 1)
    x2, z2, x3, z3 = 1, 0, base, 1
    for bit in range(254, -1, -1):
        swap = number >> bit & 1
        if swap:
            x2, z2, x3, z3 = x3, z3, x2, z2
        plus, minus = x2 + z2, x2 - z2
        cross, other = (x3 - z3) * plus, (x3 + z3) * minus
        x3, z3 = (cross + other) ** 2 % _PRIME, base * (cross - other) ** 2 % _PRIME
        square, less = plus**2 % _PRIME, minus**2 % _PRIME
        x2, z2 = square * less % _PRIME, (square - less) * (square + 121665 * (square - less)) % _PRIME
        if swap:
            x2, z2, x3, z3 = x3, z3, x2, z2
    return (x2 * pow(z2, _PRIME - 2, _PRIME) % _PRIME).to_bytes(32, "little")


def _state(key: bytes, block: bytes) -> list[int]:
    words, place = struct.unpack("<8I", key), struct.unpack("<4I", block)
    return [_SIGMA[0], *words[:4], _SIGMA[1], *place, _SIGMA[2], *words[4:], _SIGMA[3]]


def _rounds(state: list[int]) -> list[int]:
    """The 20 rounds of Salsa20 (cr.yp.to/snuffle/spec.pdf)."""
    words = list(state)
    for _ in range(10):
        for a, b, c, d in _ROUND:
            words[b] ^= _rotated(words[a] + words[d], 7)
            words[c] ^= _rotated(words[b] + words[a], 9)
            words[d] ^= _rotated(words[c] + words[b], 13)
            words[a] ^= _rotated(words[d] + words[c], 18)
    return words


def _rotated(word: int, by: int) -> int:
    word &= 0xFFFFFFFF
    return (word << by | word >> 32 - by) & 0xFFFFFFFF


def _stream(key: bytes, nonce: bytes, size: int) -> bytes:
    """XSalsa20."""
    mixed = _rounds(_state(key, nonce[:16]))
    inner = struct.pack("<8I", *(mixed[at] for at in (0, 5, 10, 15, 6, 7, 8, 9)))
    blocks = []
    for number in range(-(-size // 64)):
        state = _state(inner, nonce[16:] + struct.pack("<Q", number))
        added = (one + other & 0xFFFFFFFF for one, other in zip(state, _rounds(state), strict=True))
        blocks.append(struct.pack("<16I", *added))
    return b"".join(blocks)[:size]


def _authenticator(key: bytes, text: bytes) -> bytes:
    """Poly1305 (RFC 8439, section 2.5)."""
    factor = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for start in range(0, len(text), 16):
        total = (total + int.from_bytes(text[start : start + 16] + b"\x01", "little")) * factor % (2**130 - 5)
    return ((total + int.from_bytes(key[16:], "little")) % 2**128).to_bytes(16, "little")
