"""Copies of issued certificates that an authority keeps. An act: called with the means to write."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine
from minion.providers.x509.names import attributes_of


def keep_copy(machine: Machine, certificate: x509.Certificate, given: Mapping[str, Any]) -> None:
    """Write a copy of an issued certificate into the folder `copypath`."""
    folder = given.get("copypath")
    if not folder:
        return
    common = attributes_of(certificate.subject).get("CN", "").replace("/", "_") if given.get("prepend_cn") else ""
    name = f"{common}{'-' if common else ''}{certificate.serial_number:x}.crt"
    if machine.stat(str(folder)) is None:
        raise StateFailed(f"copypath: {folder} is not there")
    machine.write(posixpath.join(str(folder), name), certificate.public_bytes(serialization.Encoding.PEM))
