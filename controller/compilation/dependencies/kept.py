"""What documents stand on, kept in the store: after a restart those alone are compiled that may be others.

Called by `builder` with what compiles gave, and by `build_reconciler` when the first trees of a controller are live.
Only what stands on files, grains and options alone is kept: a vault, a program or a machine may say another thing by
now. It decides nothing about what is compiled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from controller.compilation.compile_messages import CompiledMinion
from controller.compilation.dependencies.index import part_key
from controller.store import BasisRecord, DesiredRecord, Store

_ENCODER = msgspec.msgpack.Encoder(enc_hook=repr)


@dataclass(frozen=True, slots=True)
class KeptDocument:
    """A document that was made before this controller started, and holds still if its reads do."""

    record: DesiredRecord
    reads: Sequence[bytes]
    """As of `CompiledMinion`."""


@dataclass(slots=True)
class KeptBases:
    """The bases in the store."""

    store: Store
    program: Callable[[], str] | None
    """Digest of the program and of what its processes may do (called once, in a thread); None where documents may stand
    on more than is recorded, so that nothing is kept."""
    _program: str = ""
    _shapings: dict[Hashable, str] = field(default_factory=dict)

    def prepare(self) -> None:
        """Called in a thread, before anything else."""
        if self.program is not None and not self._program:
            self._program = self.program()

    def keep(self, answers: Iterable[CompiledMinion], grains: Mapping[str, object], shaping: Hashable) -> None:
        """Keep what these answers stand on; to be called in the transaction that stores their documents.

        Args:
            answers: of a compile, whose outcomes are final.
            grains: of the minions, as the compile saw them.
            shaping: all that shaped the compile besides trees and grains.
        """
        if not self._program:
            return
        answers = list(answers)
        parts: dict[str, bytes] = {}
        records = []
        for answer in answers:
            if answer.ok and answer.reads and not answer.secrets:
                keys = tuple(part_key(reads).hex() for reads in answer.reads)
                parts.update(zip(keys, answer.reads, strict=True))
                inputs = self._inputs(grains[answer.minion_id], shaping)
                records.append(BasisRecord(minion=answer.minion_id, inputs=inputs, parts=keys))
        self.store.bases.put([answer.minion_id for answer in answers], records, parts)

    def found(self, grains: Mapping[str, object], shaping: Hashable) -> dict[str, KeptDocument]:
        """The documents of minions that were made of these grains and this shaping. Called in a thread."""
        if not self._program:
            return {}
        parts = self.store.bases.parts()
        bases = [each for each in self.store.bases.all() if each.minion in grains]
        desired = self.store.desired.of([each.minion for each in bases])
        return {
            each.minion: KeptDocument(desired[each.minion], [parts[key] for key in each.parts])
            for each in bases
            if each.minion in desired
            and all(key in parts for key in each.parts)
            and each.inputs == self._inputs(grains[each.minion], shaping)
        }

    def _inputs(self, grains: object, shaping: Hashable) -> str:
        known = self._shapings.get(shaping)
        if known is None:
            self._shapings.clear()
            known = self._shapings[shaping] = hashlib.sha256(repr((self._program, shaping)).encode()).hexdigest()
        return hashlib.sha256(known.encode() + _ENCODER.encode(grains)).hexdigest()
