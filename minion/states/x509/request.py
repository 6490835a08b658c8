"""x509.csr_managed: a request for a certificate."""

from __future__ import annotations

from collections.abc import Mapping

from cryptography import x509

from minion.machine.plan import Machine, Reader, Value
from minion.providers.x509.loading import Malformed, load_request
from minion.providers.x509.requests import differences, encode_plain, made, wanted_request
from minion.states.x509.documents import Looked


def look(machine: Reader, given: Mapping[str, Value], encoding: str, path: str, name: str) -> Looked:
    """What is to be another in the request that is there."""
    wanted = wanted_request(machine, given)
    try:
        current, form = load_request(machine, path)
    except Malformed:
        return Looked(changes={"replaced": name}, known=False)
    except x509.InvalidVersion:
        return Looked(changes={"invalid_version": True, "replaced": name}, known=False)
    changes: dict[str, Value] = {"encoding": encoding} if form != encoding else {}
    return Looked(changes={**changes, **differences(current, wanted)})


def make(machine: Machine, given: Mapping[str, Value], encoding: str, path: str, looked: Looked) -> bytes:
    """The content of the file."""
    if looked.known and set(looked.changes) == {"encoding"}:
        return encode_plain(load_request(machine, path)[0], encoding)
    return encode_plain(made(wanted_request(machine, given)), encoding)
