"""The secrets of a remote on their way to the process that needs them. Called by `fetcher`."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace

from gitfs.config.credentials import SecretFrom, reveal
from gitfs.config.settings import RemoteSettings


def portable_settings(settings: RemoteSettings) -> RemoteSettings:
    """The same settings with secrets that can be pickled and that mean the same in a worker.

    Variables that were withheld from the environment go along; what is in a vault is asked for (`secret_answer`).
    """

    def portable(secret: str | SecretFrom) -> str | SecretFrom:
        if isinstance(secret, SecretFrom) and secret.kind == "env":
            with suppress(LookupError):
                return reveal(secret)
        return secret if isinstance(secret, str) else replace(secret, ask=None)

    return settings.with_secrets(portable)


def secret_answer(settings: RemoteSettings, question: bytes) -> bytes:
    """A secret of these settings, of those that are in a vault."""
    path, key = json.loads(question)["secret"]
    try:
        for secret in settings.secrets.values():
            if isinstance(secret, SecretFrom) and secret.kind == "vault" and secret.where == f"{path}?{key}":
                return json.dumps({"secret": reveal(secret)}).encode()
    except LookupError as error:
        return json.dumps({"error": str(error.args[0])}).encode()
    return json.dumps({"error": f"{path} is none of this remote's secrets"}).encode()
