"""An issuer of OpenID Connect in a process of its own, on this machine: discovery, keys, and tokens signed with them.

`python oidc_issuer.py` prints its port, then answers lines of JSON on standard input: {"claims", "headers", "key"} -> a
token, {"rotate"} -> the next key takes the place of the last, {"count"} -> how often each document was asked for.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm


class Issuer(ThreadingHTTPServer):
    """The server, with its keys."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.asked: Counter[str] = Counter()
        self.number = 0
        self.rotate()

    def rotate(self) -> None:
        """New keys, of which the names are new, too."""
        self.number += 1
        self.keys: dict[str, Any] = {
            "rsa": rsa.generate_private_key(public_exponent=65537, key_size=2048),
            "ec": ec.generate_private_key(ec.SECP256R1()),
        }

    def documents(self) -> dict[str, Any]:
        """What it serves by path."""
        public = [
            {**RSAAlgorithm.to_jwk(self.keys["rsa"].public_key(), as_dict=True), "kid": f"rsa{self.number}"},
            {**ECAlgorithm.to_jwk(self.keys["ec"].public_key(), as_dict=True), "kid": f"ec{self.number}"},
            {"kty": "oct", "k": "c2VjcmV0", "kid": "shared"},
        ]
        about = {"issuer": self.address, "jwks_uri": f"{self.address}/keys"}
        return {"/.well-known/openid-configuration": about, "/keys": {"keys": public}}

    def token(self, claims: dict[str, Any], key: str = "rsa", headers: dict[str, Any] | None = None) -> str:
        """A token with the claims that all have, and these."""
        own = {"iss": self.address, "aud": "saltern", "sub": "olga", "exp": time.time() + 300}
        found = {name: value for name, value in {**own, **claims}.items() if value is not None}
        named = {"kid": f"{key}{self.number}", **(headers or {})}
        return jwt.encode(found, self.keys[key], "RS256" if key == "rsa" else "ES256", headers=named)


class _Handler(BaseHTTPRequestHandler):
    server: Issuer

    def do_GET(self) -> None:
        self.server.asked[self.path] += 1
        found = self.server.documents().get(self.path)
        self.send_response(200 if found is not None else 404)
        self.end_headers()
        self.wfile.write(json.dumps(found).encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def main() -> None:
    """Serve until standard input ends."""
    issuer = Issuer()
    threading.Thread(target=issuer.serve_forever, daemon=True).start()
    print(issuer.address, flush=True)  # noqa: T201 - who started it reads this
    for line in sys.stdin:
        asked = json.loads(line)
        if "rotate" in asked:
            issuer.rotate()
            answer: Any = issuer.number
        elif "count" in asked:
            answer = dict(issuer.asked)
        else:
            answer = issuer.token(asked["claims"], asked.get("key", "rsa"), asked.get("headers"))
        print(json.dumps(answer), flush=True)  # noqa: T201


class IssuerProcess:
    """The issuer, run beside a test."""

    def __enter__(self) -> IssuerProcess:
        command = [sys.executable, str(Path(__file__))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = self._process.stdout.readline().strip()  # type: ignore[union-attr]
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """It is gone."""
        self._process.kill()
        self._process.communicate()

    def ask(self, **asked: Any) -> Any:
        """See `main`."""
        self._process.stdin.write(json.dumps(asked) + "\n")  # type: ignore[union-attr]
        self._process.stdin.flush()  # type: ignore[union-attr]
        return json.loads(self._process.stdout.readline())  # type: ignore[union-attr]

    def token(self, key: str = "rsa", headers: dict[str, Any] | None = None, **claims: Any) -> str:
        """A token; claims that are None are left out."""
        return str(self.ask(claims=claims, key=key, headers=headers))


if __name__ == "__main__":
    main()
