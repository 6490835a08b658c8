"""`salt.utils.url`: addresses."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit


def parse(url: str) -> tuple[str, str | None]:
    """Path and saltenv of `salt://path?saltenv=env`."""
    path, _, env = url.removeprefix("salt://").partition("?saltenv=")
    return path, env or None


def create(path: str, saltenv: str | None = None) -> str:
    """The other way round."""
    return f"salt://{path}" + (f"?saltenv={saltenv}" if saltenv else "")


def split_env(url: str) -> tuple[str, str | None]:
    """The address without its saltenv, and that."""
    bare, _, env = url.partition("?saltenv=")
    return bare, env or None


def add_env(url: str, saltenv: str) -> str:
    """With another saltenv."""
    return f"{split_env(url)[0]}?saltenv={saltenv}" if url.startswith("salt://") else url


def validate(url: str, protos: Any) -> bool:
    """Whether it has one of some schemes."""
    scheme = urlsplit(url).scheme
    return not scheme if not protos else scheme in protos


def strip_proto(url: str) -> str:
    """Without its scheme."""
    return url.split("://", 1)[-1]


def redact_http_basic_auth(output: str) -> str:
    """Without the passwords in addresses."""
    return re.sub(r"(https?://)[^@/]*@", r"\1<redacted>@", output)
