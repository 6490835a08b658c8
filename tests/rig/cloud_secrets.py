"""Stateful fakes of Google's Secret Manager and of Azure Key Vault, with what gives out their tokens.

Both check what the published descriptions say a request has: the signature and audience of the assertion, the secret of
the application, the token of each question, its path and version.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import ssl
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import jwt
import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

_GOOGLE_AUDIENCE = "https://oauth2.googleapis.com/token"


@dataclass
class Cloud:
    """What a fake keeps."""

    url: str = ""
    secrets: dict = field(default_factory=dict)
    """Google: (project, name) -> versions; Azure: name -> versions, by the name of each."""
    denied: set = field(default_factory=set)
    tokens: list = field(default_factory=list)
    asked: list = field(default_factory=list)
    key: str = ""
    ca: str = ""
    hostile: str = ""
    """How all answers but those of tokens are: `endless`, `slow`, `nested`, `other`."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *ignored):
        pass

    @property
    def cloud(self):
        return self.server.cloud

    def say(self, status, document, **headers):
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def was_hostile(self):
        """Whether the answer was one that none should give."""
        kind = self.cloud.hostile
        if not kind:
            return False
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(OSError):
            match kind:
                case "endless":
                    while True:
                        self.wfile.write(b"[" * 65536)
                case "slow":
                    for _ in range(300):
                        self.wfile.write(b" ")
                        time.sleep(0.1)
                case "nested":
                    self.wfile.write(b"[" * 200_000)
                case other:
                    self.wfile.write(other.encode())
        return True

    def form(self):
        length = int(self.headers.get("Content-Length") or 0)
        return {name: values[0] for name, values in parse_qs(self.rfile.read(length).decode()).items()}

    def bearer(self):
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        return token in self.cloud.tokens

    def new_token(self):
        self.cloud.tokens.append(f"token-{len(self.cloud.tokens)}")
        return self.cloud.tokens[-1]


class _Google(_Handler):
    """https://developers.google.com/identity/protocols/oauth2/service-account and the metadata server."""

    def do_POST(self):
        given = self.form()
        if self.path != "/token" or given.get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer":
            return self.say(400, {"error": "unsupported_grant_type"})
        try:
            claims = jwt.decode(given["assertion"], self.cloud.key, algorithms=["RS256"], audience=_GOOGLE_AUDIENCE)
        except jwt.InvalidTokenError:
            return self.say(400, {"error": "invalid_grant"})
        if "https://www.googleapis.com/auth/cloud-platform" not in claims["scope"].split():
            return self.say(400, {"error": "invalid_scope"})
        return self.say(200, {"access_token": self.new_token(), "expires_in": 3600, "token_type": "Bearer"})

    def do_GET(self):
        if self.was_hostile():
            return None
        self.cloud.asked.append(self.path)
        found = re.fullmatch(r"/v1/projects/([^/]+)/secrets/([^/]+)/versions/([^/]+):access", self.path)
        if not self.bearer():
            return self.say(401, {"error": {"code": 401, "status": "UNAUTHENTICATED"}})
        if not found:
            return self.say(400, {"error": {"code": 400, "status": "INVALID_ARGUMENT"}})
        project, name, version = found.groups()
        if name in self.cloud.denied:
            return self.say(403, {"error": {"code": 403, "status": "PERMISSION_DENIED", "message": f"on {project}"}})
        versions = self.cloud.secrets.get((project, name), [])
        number = len(versions) if version == "latest" else int(version)
        if not 0 < number <= len(versions):
            return self.say(404, {"error": {"code": 404, "status": "NOT_FOUND"}})
        place = f"projects/{project}/secrets/{name}/versions/{number}"
        data = base64.b64encode(versions[number - 1]).decode()
        return self.say(200, {"name": place, "payload": {"data": data, "dataCrc32c": "0"}})


class _Azure(_Handler):
    """https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-client-creds-grant-flow and the vault."""

    def do_GET(self):
        url = urlsplit(self.path)
        self.cloud.asked.append(url.path)
        if url.path.endswith("/.well-known/openid-configuration"):
            here = f"{self.cloud.url}/tenant"
            return self.say(
                200,
                {
                    "issuer": f"{here}/v2.0",
                    "token_endpoint": f"{here}/oauth2/v2.0/token",
                    "authorization_endpoint": f"{here}/oauth2/v2.0/authorize",
                },
            )
        if self.was_hostile():
            return None
        if not self.bearer():
            challenge = 'Bearer authorization="https://login.example.org", resource="https://vault.azure.net"'
            return self.say(401, {"error": {"code": "Unauthorized"}}, WWW_Authenticate=challenge)
        if parse_qs(url.query).get("api-version") != ["7.4"]:
            return self.say(400, {"error": {"code": "BadParameter"}})
        _, _, name, version = url.path.split("/")
        if name in self.cloud.denied:
            return self.say(403, {"error": {"code": "Forbidden", "message": "caller app-id"}})
        versions = self.cloud.secrets.get(name, {})
        if not versions or (version and version not in versions):
            return self.say(404, {"error": {"code": "SecretNotFound"}})
        which = version or list(versions)[-1]
        return self.say(200, {"value": versions[which], "id": f"{self.cloud.url}/secrets/{name}/{which}"})

    def do_POST(self):
        given = self.form()
        known = given.get("client_id") == "app-id" and given.get("client_secret") == "app-secret"
        if self.path != "/tenant/oauth2/v2.0/token" or given.get("grant_type") != "client_credentials":
            return self.say(400, {"error": "unsupported_grant_type"})
        if not known:
            return self.say(401, {"error": "invalid_client", "error_description": "AADSTS7000215: of app-id"})
        if given.get("scope") != "https://vault.azure.net/.default":
            return self.say(400, {"error": "invalid_scope"})
        return self.say(200, {"access_token": self.new_token(), "expires_in": 3599, "token_type": "Bearer"})


@contextmanager
def _served(handler, cloud, scheme, context=None):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.cloud = cloud
    cloud.url = f"{scheme}://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield cloud
    server.shutdown()
    thread.join()
    server.server_close()


@contextmanager
def google_cloud(folder):
    """A server and the file of a service account that it knows, `account.json` in `folder`."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with _served(_Google, Cloud(key=public.decode()), "http") as cloud:
        account = {
            "type": "service_account",
            "project_id": "of-the-account",
            "private_key_id": "1",
            "private_key": private.decode(),
            "client_email": "saltern@of-the-account.iam.gserviceaccount.com",
            "token_uri": f"{cloud.url}/token",
        }
        (folder / "account.json").write_text(json.dumps(account))
        yield cloud


@contextmanager
def azure_cloud(folder):
    """A server of tokens and of a vault, with a certificate of the authority in `ca`."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(folder / "ca.pem")
    with _served(_Azure, Cloud(ca=str(folder / "ca.pem")), "https", context) as cloud:
        yield cloud
