"""A service of the real PAM, for tests of logins."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

PASSWORD = "open sesame"
"""Everybody's."""


@contextlib.contextmanager
def pam_service(folder: Path) -> Iterator[str]:
    """The name of a service in /etc/pam.d while the body runs; `folder` is for its program."""
    services = Path("/etc/pam.d")
    if os.geteuid() != 0 or not services.is_dir():
        pytest.skip("needs root and /etc/pam.d to configure a service of PAM")
    script = folder / "check"
    script.write_text(f'#!/bin/sh\nread -r given\n[ "$given" = "{PASSWORD}" ]\n')
    script.chmod(0o755)
    file = services / f"saltern-test-{os.getpid()}"
    file.write_text(f"auth required pam_exec.so quiet expose_authtok {script}\naccount required pam_permit.so\n")
    try:
        yield file.name
    finally:
        file.unlink()
