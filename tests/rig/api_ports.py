"""Certificates and configuration of a controller whose API is reached over the network, and clients of it."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import httpx
import trustme

AUTHORITY = trustme.CA()


def write_certificate(folder: Path, name: str = "127.0.0.1") -> tuple[Path, Path]:
    """A certificate and its key, of `AUTHORITY`; a new one in the place of the last."""
    issued = AUTHORITY.issue_cert(name)
    certificate, key = folder / "api.crt", folder / "api.key"
    certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    key.write_bytes(issued.private_key_pem.bytes())
    return certificate, key


def with_port(config_dir: Path, port: int, more: str = "", *, options: str = "") -> None:
    """Have the controller of this folder serve the API. `options` are of `api`, `more` of the controller."""
    certificate, key = write_certificate(config_dir)
    with (config_dir / "controller").open("a") as file:
        file.write(f"api:\n  port: {port}\n  tls: {{certificate: {certificate}, key: {key}}}\n{options}\n{more}\n")


def trusting() -> ssl.SSLContext:
    """A client's end of TLS that knows the authority."""
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    return context


def over_tls(served: Any, path: str = "/api/v1", **headers: str) -> httpx.Client:
    """A client of the port."""
    host, port = served.listening.api
    return httpx.Client(
        base_url=f"https://{host}:{port}{path}", verify=trusting(), timeout=30, trust_env=False, headers=headers
    )


def over_socket(served: Any, **headers: str) -> httpx.Client:
    """A client of the unix socket, as root or the controller's user."""
    transport = httpx.HTTPTransport(uds=str(served.settings.socket), verify=False)
    return httpx.Client(
        transport=transport, base_url="http://controller/api/v1", timeout=30, trust_env=False, headers=headers
    )


def token_of(served: Any, user: str, *, seconds: float = 600, **more: Any) -> str:
    """A token for a user, made by an administrator of the machine."""
    with over_socket(served) as client:
        answer = client.post("/tokens", json={"user": user, "seconds": seconds, **more})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["token"])
