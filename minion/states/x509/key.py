"""x509.private_key_managed: a private key, made where it lacks or is of another kind."""

from __future__ import annotations

from dataclasses import dataclass, replace

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Plan, Reader, Value
from minion.providers.x509.keys import (
    KEY_ENCODINGS,
    check_encoding,
    check_kind,
    encode_key,
    kind_of,
    make_key,
    size_of,
    wanted_size,
)
from minion.providers.x509.loading import (
    LoadedKey,
    Malformed,
    NotEncrypted,
    PassphraseMissing,
    WrongPassphrase,
    load_private_key,
)
from minion.states.x509.documents import Document, Looked, plan_of

_AROUND = frozenset({"encoding", "passphrase"})
"""Changes for which no key has to be made."""
_FORCE = "Pass overwrite: true to force regeneration"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedKey:
    """A key as it is to be."""

    algo: str
    keysize: int | None
    passphrase: str | None
    encoding: str
    new: bool
    overwrite: bool
    compatible: bool


def plan(machine: Reader, document: Document, wanted: WantedKey) -> Plan:
    """The plan of the key."""
    check_kind(wanted.algo, wanted.keysize)
    check_encoding(wanted.encoding, KEY_ENCODINGS)
    made = plan_of(
        machine,
        document,
        lambda path: _look(machine, wanted, path, document.name),
        lambda machine, path, looked: _make(machine, wanted, path, looked),
    )
    return replace(made, converges=False, each_time=True) if wanted.new else made


def _look(machine: Reader, wanted: WantedKey, path: str, name: str) -> Looked:
    if wanted.new:
        return Looked(changes={"replaced": name})
    changes: dict[str, Value] = {}
    try:
        current = load_private_key(machine, path, wanted.passphrase)
    except NotEncrypted:
        current, changes = load_private_key(machine, path), {"passphrase": True}
    except WrongPassphrase as error:
        return _anew(wanted, name, error, f"The provided passphrase cannot decrypt the private key. {_FORCE}")
    except PassphraseMissing as error:
        return _anew(wanted, name, error, f"The existing file is encrypted. {_FORCE} without passphrase")
    except Malformed as error:
        text = "The existing file does not seem to be a private key formatted as DER, PEM or embedded in PKCS12."
        return _anew(wanted, name, error, f"{text} {_FORCE}")
    return Looked(changes={**changes, **_differences(current, wanted)})


def _anew(wanted: WantedKey, name: str, error: StateFailed, text: str) -> Looked:
    """A key that cannot be read is replaced where that is asked for."""
    if not wanted.overwrite:
        raise StateFailed(text) from error
    if isinstance(error, Malformed):
        return Looked(changes={"created": name})
    return Looked(changes={"passphrase": True, "created": name})


def _differences(current: LoadedKey, wanted: WantedKey) -> dict[str, Value]:
    found: dict[str, Value] = {}
    size = wanted_size(wanted.algo, wanted.keysize)
    if kind_of(current.key) != wanted.algo:
        found["algo"] = wanted.algo
    elif size is not None and size_of(current.key) != size:
        found["keysize"] = size
    if wanted.encoding != current.encoding:
        found["encoding"] = wanted.encoding
    return found


def _make(machine: Machine, wanted: WantedKey, path: str, looked: Looked) -> bytes:
    if looked.known and not set(looked.changes) - _AROUND:
        passphrase = None if "passphrase" in looked.changes else wanted.passphrase
        key = load_private_key(machine, path, passphrase).key
    else:
        key = make_key(wanted.algo, wanted.keysize)
    return encode_key(key, wanted.encoding, wanted.passphrase, compatible=wanted.compatible)
