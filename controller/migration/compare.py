"""`saltern migrate compare`: every minion that a Salt master has cached, compiled by Salt and by Saltern.

Called by the command. Both get the same trees, grains and recorded answers; the pillar each compiles itself. Functions
of the machine that nobody recorded are run by neither, and such a minion is told as not compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from controller.migration.cached_minions import CachedMinions
from controller.migration.check import Configuration, existing
from controller.migration.limits import (
    ANSWER_BYTES,
    DIFFERENCES,
    DIFFERENCES_OF_MINION,
    TREE_BYTES,
    TREE_FILE_BYTES,
    TREE_FILES,
)
from controller.migration.salt_process import SaltAnswer, SaltFailed, SaltProcess, SaltWorld
from controller.offline import Isolated, Lost, answer_case, parse_case
from controller.offline.show import GitLayers
from controller.reconcile.comparing.chunk_differences import VALUE_CHARACTERS, differences
from controller.schema.fleet.comparisons import COMPARISON_VERDICTS, MinionComparison
from gitfs.tree.snapshot import Snapshot, directory_snapshot
from highstate.compile.order import MOD_WATCH
from highstate.functions.catalog import BUILT_IN
from highstate.functions.live import LIVE_MODULES
from highstate.memo.memo import Memo


class CompareReport(msgspec.Struct, frozen=True, kw_only=True):
    """All minions."""

    salt: str
    """Version of the Salt that was compared with."""
    counts: dict[str, int]
    """ComparisonVerdict -> minions."""
    minions: tuple[MinionComparison, ...]
    not_read: tuple[str, ...] = ()
    """Minions and remotes that were not looked at, each with the reason."""

    @property
    def all_same(self) -> bool:
        """Whether every minion compiles to the same, and all were looked at."""
        return self.counts["same"] == len(self.minions) and not self.not_read


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """What both compile, and how."""

    configuration: Configuration
    root: Path
    options: Mapping[str, Any]
    """Minion options of Salt's that have the effect of the converted configuration."""
    git_files: GitLayers = ()
    git_pillar: GitLayers = ()
    facts: Sequence[Mapping[str, Any]] = ()
    """Recorded answers of functions of the machine, as `saltern compile --facts` takes them."""
    timeout: float = 60.0
    """Seconds for a minion, on each side."""
    memory: int = 0
    """Bytes of address space for each side; 0: no bound."""


class TooLarge(Exception):
    """Git trees that are not given to Salt, since they are beyond a limit."""


def salt_world(sides: Sides, scratch: Path) -> SaltWorld:
    """What Salt's process is told. Trees of git remotes are written into folders for it. Raises TooLarge.

    Args:
        sides: what is compared.
        scratch: an empty folder.
    """
    roots = sides.configuration.roots
    own = {Path(name).stem for name in _names(sides, "_modules")}
    inside = scratch / "salt"
    inside.mkdir()
    return SaltWorld(
        folder=str(inside),
        master=str(sides.configuration.folder.path / "master"),
        root=str(sides.root),
        file_roots=_with_git(roots["states"], sides.git_files, scratch / "states"),
        pillar_roots=_with_git(roots["pillar"], sides.git_pillar, scratch / "pillar"),
        live=sorted(LIVE_MODULES | own),
        pure=sorted(BUILT_IN),
        watched=sorted(MOD_WATCH),
        facts=[dict(each) for each in sides.facts],
    )


def compare(
    sides: Sides, salt: SaltProcess, cached: CachedMinions, ids: Sequence[str], told: Callable[[int], None]
) -> Iterator[MinionComparison]:
    """Each minion in turn; those without grains are left out, and `cached` tells them.

    Args:
        sides: what is compared.
        salt: the process of Salt.
        cached: where the grains are.
        ids: which minions.
        told: called with how many are done.
    """
    kept = 0
    with Isolated(lambda: _our_side(sides), timeout=sides.timeout, memory=sides.memory) as ours:
        for done, minion_id in enumerate(ids, 1):
            grains = cached.grains(minion_id)
            plain = _plain(grains) if grains is not None else None
            if plain is not None:
                found = _comparison(minion_id, salt, ours, plain)
                if kept + len(found.differences) > DIFFERENCES:
                    left_out = found.left_out + len(found.differences)
                    found = msgspec.structs.replace(found, differences=(), left_out=left_out)
                kept += len(found.differences)
                yield found
            elif grains is not None:
                cached.not_read.append(f"{cached.files[minion_id]}: grains that are no JSON")
            told(done)


def report_of(version: str, minions: Sequence[MinionComparison], not_read: Sequence[str]) -> CompareReport:
    """The report about what was compared with a version of Salt."""
    counts: dict[str, int] = dict.fromkeys(COMPARISON_VERDICTS, 0)
    for each in minions:
        counts[each.verdict] += 1
    return CompareReport(salt=version, counts=counts, minions=tuple(minions), not_read=tuple(not_read))


def _comparison(minion_id: str, salt: SaltProcess, ours: Isolated, grains: dict[str, Any]) -> MinionComparison:
    mine = _ask_us(ours, minion_id, grains)
    try:
        theirs = salt.ask(minion_id, grains)
    except SaltFailed as failed:
        return MinionComparison(minion=minion_id, verdict="not compared", why=_cut(str(failed)))
    if theirs.low is None and theirs.asked:
        why = f"templates ask the minion for {', '.join(theirs.asked)}: record the answers (--facts)"
        return MinionComparison(minion=minion_id, verdict="not compared", why=_cut(why))
    if theirs.low is None and mine.low is None:
        why = f"neither compiles it: Salt: {_first(theirs)}; Saltern: {_first(mine)}"
        return MinionComparison(minion=minion_id, verdict="not compared", why=why)
    if theirs.low is None or mine.low is None:
        who = f"Salt does not compile it: {_first(theirs)}" if theirs.low is None else _ours_alone(mine)
        return MinionComparison(minion=minion_id, verdict="different", chunks=len(mine.low or ()), why=who)
    found = list(differences(theirs.low, mine.low, ordered=salt.ordered))
    return MinionComparison(
        minion=minion_id,
        verdict="different" if found else "same",
        chunks=len(mine.low),
        differences=tuple(found[:DIFFERENCES_OF_MINION]),
        left_out=max(0, len(found) - DIFFERENCES_OF_MINION),
    )


def _ours_alone(mine: SaltAnswer) -> str:
    return f"Saltern does not compile it, and Salt does: {_first(mine)}"


def _first(answer: SaltAnswer) -> str:
    more = f" (and {len(answer.errors) - 1} more)" if len(answer.errors) > 1 else ""
    return _cut(answer.errors[0] if answer.errors else "no error") + more


def _cut(text: str) -> str:
    return text if len(text) <= VALUE_CHARACTERS else text[:VALUE_CHARACTERS] + "…"


def _ask_us(ours: Isolated, minion_id: str, grains: dict[str, Any]) -> SaltAnswer:
    try:
        answer = ours.ask(msgspec.json.encode({"id": minion_id, "grains": grains}))
        return msgspec.json.decode(answer, type=SaltAnswer)
    except Lost as lost:
        return SaltAnswer(errors=[f"no result: {lost}"])
    except msgspec.DecodeError as error:
        return SaltAnswer(errors=[f"the result is no JSON: {error}"])


def _our_side(sides: Sides) -> Callable[[bytes], bytes]:
    """What is done in a process of ours, whose memo all minions share."""
    memo = Memo()
    roots = sides.configuration.roots
    base: dict[str, Any] = {
        "file_roots": existing(roots["states"]),
        "pillar_roots": existing(roots["pillar"]),
        "facts": [dict(each) for each in sides.facts],
        "opts": dict(sides.options),
    }

    def work(line: bytes) -> bytes:
        try:
            asked = msgspec.json.decode(line)
            case, _ = parse_case({**base, "minion_id": asked["id"], "grains": asked["grains"]})
            answer = answer_case(case, memo, git_files=sides.git_files, git_pillar=sides.git_pillar)
            if answer.errors:
                return _packed({"errors": [str(problem)[:10_000] for problem in answer.errors[:100]]})
            return _packed({"low": answer.result})
        except Exception as error:  # the border of this process: what breaks is the answer of this minion
            return _packed({"errors": [f"the compile failed: {type(error).__name__}: {str(error)[:2000]}"]})

    return work


def _packed(answer: Mapping[str, Any]) -> bytes:
    """As Salt's side writes its own."""
    data = json.dumps(answer, default=_other).encode()
    return data if len(data) <= ANSWER_BYTES else b'{"errors": ["the low chunks are too large"]}'


def _other(value: Any) -> str:
    return f"{{{', '.join(sorted(map(repr, value)))}}}" if isinstance(value, set | frozenset) and value else str(value)


def _plain(grains: dict[str, Any]) -> dict[str, Any] | None:
    """The grains as both sides get them, through JSON; None where they cannot be written so."""
    try:
        found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(grains))
    except (TypeError, ValueError, RecursionError):
        return None
    return found


def _names(sides: Sides, folder: str) -> list[str]:
    """Files in a folder of the trees of states, whatever the environment."""
    trees = [directory_snapshot(existing(sides.configuration.roots["states"]))]
    trees += [Snapshot(environments={saltenv: (layer,)}) for saltenv, layer in sides.git_files]
    return [path.rpartition("/")[2] for tree in trees for env in tree.saltenvs() for path in tree.list(folder, env)]


def _with_git(roots: Mapping[str, list[str]], layers: GitLayers, out: Path) -> dict[str, list[str]]:
    """The folders of this machine, and a new one for each layer; files that no compile reads are left out."""
    found, files, total = existing(roots), 0, 0
    for number, (saltenv, layer) in enumerate(layers):
        tree = Snapshot(environments={saltenv: (layer,)})
        folder = out / str(number)
        folder.mkdir(parents=True)
        for path in tree.list("", saltenv):
            oid = tree.oid(path, saltenv)
            start = tree.blob_start(oid, TREE_FILE_BYTES) if oid else None
            if start is None or start.size > TREE_FILE_BYTES:
                continue
            files, total = files + 1, total + start.size
            if files > TREE_FILES or total > TREE_BYTES:
                raise TooLarge(f"the git trees have more than {TREE_FILES} files or {TREE_BYTES >> 20} MiB")
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(start.data)
        found.setdefault(saltenv, []).append(str(folder))
    return found
