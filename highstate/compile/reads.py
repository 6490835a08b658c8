"""What a compile depends on: files, functions of the live machine, secrets. Called by `compiler` with its records.

The controller compiles again when an answer is another one, and takes the secrets out of whatever it shows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from highstate.memo.sources import Read, ReadSources
from highstate.memo.tracked import Recorder
from highstate.ports import DecryptFailed, SecretFailed
from highstate.redaction import secret_texts
from highstate.types import Compiled

_STAGES_OF_FILES = ("top", "states")
"""The others are named by the tree of pillar that they look at."""


def with_reads(compiled: Compiled, recorders: Mapping[str, Recorder], decrypted: Iterable[str]) -> Compiled:
    """The result with what its pillar, its top file and its states stand on.

    `recorders` are those of the stages by name, `decrypted` the plain texts that the layers over the pillar gave.
    """
    names = dict.fromkeys(name for recorder in recorders.values() for name in recorder.volatile)
    kept: list[tuple[Recorder, Read]] = []
    parts = [_file_reads(stage, recorder, kept) for stage, recorder in recorders.items()]
    files = None if None in parts else tuple(part for part in parts if part is not None)
    return replace(compiled, volatile=tuple(names), files=files, secrets=_secrets(decrypted, kept))


def _secrets(decrypted: Iterable[str], kept: Sequence[tuple[Recorder, Read]]) -> frozenset[str]:
    """All that came of a vault or of an encrypted message."""
    found = set(decrypted)
    for recorder, read in kept:
        with contextlib.suppress(SecretFailed, DecryptFailed):
            found |= _secrets_of(recorder.sources, read)
    return frozenset(found)


def _secrets_of(sources: ReadSources, read: Read) -> frozenset[str]:
    match read:
        case ("plain", ciphertext):
            return secret_texts(sources.plain(ciphertext))
        case ("secret", path):
            return secret_texts(dict(sources.secret(path)))
        case ("fact", "sdb.get", asked):
            fact = sources.fact("sdb.get", asked)
            return secret_texts(fact.value) if fact else frozenset()
    return frozenset()


def _file_reads(
    stage: str, recorder: Recorder, secret: list[tuple[Recorder, Read]]
) -> frozenset[tuple[str, str, str, str, str]] | None:
    """What a stage looked at in its tree; None where it looked at more than can be asked of a tree.

    Reads that may be of secrets are added to `secret`.
    """
    tree, more = "files" if stage in _STAGES_OF_FILES else stage, bool(recorder.live)
    found = []
    for read, digest in recorder.reads.items():
        match read[0]:
            case "file":
                found.append((tree, "file", read[1], read[2], digest.decode()))
            case "mode":
                found.append((tree, "mode", read[1], read[2], digest.decode()))
            case "saltenv":
                found.append((tree, "saltenv", read[1], "", digest.decode()))
            case "list" | "links":
                found.append((tree, read[0], read[1], read[2], digest.hex()))
            case "value" | "peek" | "keys" | "has" | "id" | "blank" | "blanks" | "asked":
                pass
            case "plain":
                secret.append((recorder, read))
            case "secret":
                secret.append((recorder, read))
                more = True
            case "fact":
                secret.append((recorder, read))
                fact = recorder.sources.fact(read[1], read[2])
                more = more or fact is None or not fact.followed
            case _:
                more = True
    return None if more else frozenset(found)
