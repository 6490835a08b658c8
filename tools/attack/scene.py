"""What an attacker has: addresses, the controller's public key, an accepted key of its own, a clone that may push.

Attacks run in processes of their own, so a scene holds plain data alone.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import msgspec
import zmq

from wire.codec import encode
from wire.keys import KeyPair
from wire.messages import ToController

HOST = "127.0.0.1"
HOSTILE = "mallory"
"""Id of the minion whose accepted key the attackers have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One controller as attackers find it."""

    publish_port: int
    request_port: int
    http_port: int
    socket: Path
    controller_key: str
    key: KeyPair
    """Accepted for `HOSTILE`."""
    remote: Path
    """The bare repository that the controller follows."""
    folder: Path
    """For files of the attack."""
    config: Path
    """Folder of the controller's configuration, for its command line."""
    far_port: int
    """Where the attack's own git server listens: the controller follows `far0.git` and so on there."""
    gateway_port: int = 0
    """Of requests of stock minions, where there is a gateway."""
    gateway_publish_port: int = 0

    def dealer(
        self, keys: KeyPair | None = None, *, linger: int = 0, queue: int = 1000, port: int = 0
    ) -> zmq.Socket[bytes]:
        """A connected socket that speaks CURVE and reads `queue` messages ahead.

        Args:
            keys: of the client; None: of the accepted minion.
            linger: milliseconds that `close` waits for what is queued.
            queue: messages that are read ahead.
            port: of a relay to the controller; 0: the controller's own.
        """
        keys = keys or self.key
        opened: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        for option, value in {
            zmq.LINGER: linger,
            zmq.SNDHWM: 1000,
            zmq.RCVHWM: queue,
            zmq.ROUTING_ID: b"\x01" + os.urandom(16),
            zmq.CURVE_SERVERKEY: self.controller_key.encode(),
            zmq.CURVE_PUBLICKEY: keys.public.encode(),
            zmq.CURVE_SECRETKEY: keys.secret.encode(),
        }.items():
            opened.set(option, value)
        opened.connect(f"tcp://{HOST}:{port or self.request_port}")
        return opened

    def minion(self, hello: ToController, *, queue: int = 1000) -> zmq.Socket[bytes]:
        """The hostile minion, connected; `hello` is its first message."""
        opened = self.dealer(queue=queue)
        opened.send(encode(hello))
        return opened

    def ask(self, method: str, path: str, *, timeout: float = 600.0, **arguments: Any) -> httpx.Response:
        """A request to the controller's API, as a person may send it."""
        transport = httpx.HTTPTransport(uds=str(self.socket), verify=False)
        with httpx.Client(transport=transport, base_url="http://controller/api/v1", timeout=timeout) as client:
            return client.request(method, path, **arguments)

    def clone(self, branch: str) -> Path:
        """The clone of the remote that this branch is pushed from."""
        clone = self.folder / f"clone-{branch}"
        if not clone.exists():
            git("clone", "-q", str(self.remote), str(clone), cwd=self.folder)
            git("checkout", "-q", "-b", branch, cwd=clone)
        return clone

    def push_index(self, branch: str, index: str) -> None:
        """Push a branch with these changes of its index (`git update-index --index-info`); no file is written."""
        clone = self.clone(branch)
        git("update-index", "--add", "--index-info", cwd=clone, given=index)
        git("commit", "-q", "--allow-empty", "-m", branch, cwd=clone)
        git("push", "-q", "origin", f"HEAD:refs/heads/{branch}", cwd=clone)

    def push_branch(self, branch: str, files: Mapping[str, str]) -> None:
        """Push a branch that holds these files beside what `main` has."""
        clone = self.clone(branch)
        for path, text in files.items():
            (clone / path).parent.mkdir(parents=True, exist_ok=True)
            (clone / path).write_text(text)
        git("add", "-A", cwd=clone)
        git("commit", "-q", "--allow-empty", "-m", branch, cwd=clone)
        git("push", "-q", "origin", f"HEAD:refs/heads/{branch}", cwd=clone)


def new_key() -> KeyPair:
    """A key that nobody knows."""
    public, secret = zmq.curve_keypair()
    return KeyPair(public=public.decode(), secret=secret.decode())


def pack(tag: str, /, **fields: Any) -> bytes:
    """A message as bytes, with fields that our own encoder might refuse."""
    return msgspec.msgpack.encode({"t": tag, **fields})


def git(*arguments: str, cwd: Path, given: str = "") -> str:
    """Run git as somebody who may push, with `given` on its stdin; its output."""
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "Mallory",
        "GIT_AUTHOR_EMAIL": "mallory@example.org",
        "GIT_COMMITTER_NAME": "Mallory",
        "GIT_COMMITTER_EMAIL": "mallory@example.org",
    }
    done = subprocess.run(
        ["git", *arguments], cwd=cwd, env=environment, input=given, text=True, check=True, capture_output=True
    )
    return done.stdout.strip()
