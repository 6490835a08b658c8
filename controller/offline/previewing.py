"""A preview without a controller: two commits of a working copy, compiled for minions whose grains are given.

The same comparison and report as the controller's (`controller.preview`), without test runs and without answers of
machines: a minion whose highstate needs some is *not known*. Called by `saltern preview --local`. Trees are read from
the object database of the working copy, in which nothing is changed; folders outside of it are the same on both sides.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec
import pygit2

from controller.compilation.compile_messages import CompiledMinion, CompileRequest
from controller.compilation.compile_worker import WorkerState, answer
from controller.config.limits import PreviewLimits
from controller.observe.redactor import Redactor
from controller.offline.isolation import Isolated, Lost
from controller.offline.tree_policy import with_policy
from controller.offline.trees import snapshot_of
from controller.policy.policy import Policy
from controller.policy.reading import POLICY_FILE, PolicyInvalid, read_policy
from controller.preview.comparison import Comparer, Comparison
from controller.preview.contents.rendered_texts import RenderedTexts
from controller.preview.contents.sides import rendering, top_questions
from controller.preview.contents.strangers import NOT_RENDERED
from controller.preview.forecast import groups_of_targets
from controller.preview.origins import Origins
from controller.preview.reporting import Known, completed
from controller.preview.repository_places import RepositoryPlaces
from controller.preview.sides.base_side import BaseSide
from controller.reconcile.source_differences import SourceDifferences
from controller.schema.previews import MovedSource
from controller.schema.reports import PreviewReport
from controller.store import Store
from gitfs.mirror.history import newest_commits
from gitfs.tree.git_layer import GitLayer
from gitfs.tree.snapshot import Snapshot
from highstate.compile_options import CompileOptions
from highstate.dummy_pillar import DummyPillar
from highstate.dummy_ports import dummy_ports
from highstate.ports import NO_PORTS, CompilePorts
from highstate.targeting.match import match_minion, may_ask_pillar
from highstate.types import Minion, Pos, Problem, Stage
from matching.matcher import person_matcher

_REMOTE = "local"
_TOGETHER = 20
"""Minions that are compiled at a time."""
_NOTHING_APPLIED = BaseSide(live=False, refused=False, applied={}, document=lambda _: None)
"""What minions have is not known here: the commits are compared with each other alone."""
_SIDES: Any = msgspec.msgpack.Decoder(tuple[list[CompiledMinion], list[CompiledMinion]])


class LocalPreviewImpossible(Exception):
    """There is no report; the text says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPreview:
    """What is previewed."""

    repository: Path
    """A working copy, or a bare repository."""
    base: str
    head: str
    from_branching: bool = False
    """Compare the head with the commit where it has branched off the base, rather than with the base."""
    file_roots: Mapping[str, Sequence[str]]
    """Environment -> folders, relative to the repository; others are absolute."""
    pillar_roots: Mapping[str, Sequence[str]] = field(default_factory=dict)
    grains: Mapping[str, Mapping[str, Any]]
    """Minion -> grains."""
    options: CompileOptions = field(default_factory=CompileOptions)
    restricted: bool = False
    timeout: float = 60.0
    """Seconds for each minion."""
    memory: int = 0
    """Bytes of the process that compiles; 0: no bound."""


@dataclass(frozen=True, slots=True)
class _Side:
    """One commit."""

    commit: pygit2.Commit
    files: Snapshot
    pillar: Snapshot
    policy: Policy
    problem: str = ""
    pillar_problem: str = ""


def preview_locally(asked: LocalPreview, now: float, progress: Callable[[int, int], None]) -> PreviewReport:
    """The report.

    Args:
        asked: what is previewed.
        now: seconds since the epoch, for the report.
        progress: is told how many minions of how many are compiled.

    Raises:
        LocalPreviewImpossible: a ref, the repository or a folder is not there.
    """
    began = time.monotonic()
    sides = _sides(asked)
    found = Comparison(minions=len(asked.grains), side=_NOTHING_APPLIED)
    with (
        tempfile.TemporaryDirectory(prefix="saltern-preview-") as folder,
        Store(f"sqlite:///{folder}/store.sqlite") as store,
    ):
        redactor = Redactor(store, os.urandom(32).hex())
        comparer = Comparer.of(redactor, threading.Event(), PreviewLimits(), live=False, python_later=asked.restricted)
        targets = _compare(asked, sides, comparer, found, progress)
    base, head = sides
    report = PreviewReport(
        made_at=now,
        environment=asked.options.saltenv or "base",
        base=str(base.commit.id),
        head=str(head.commit.id),
        restricted=asked.restricted,
        problems=(
            *(f"{name}: {each.problem}" for name, each in (("base", base), ("head", head)) if each.problem),
            *((head.pillar_problem,) if head.pillar_problem else ()),
        ),
        moved=_moved(asked, sides),
        minions=len(asked.grains),
    )
    policies = (base.policy.previews, (base if head.problem else head).policy.previews)
    moved = {_REMOTE: str(head.commit.id)}
    places = RepositoryPlaces((base.files, head.files), (base.pillar, head.pillar), moved)
    origins = Origins(base.files, head.files, _commits(asked, sides), places)
    report = completed(report, found, _known(asked, targets), policies, origins, (base.pillar, head.pillar))
    return msgspec.structs.replace(report, seconds=time.monotonic() - began)


def _sides(asked: LocalPreview) -> tuple[_Side, _Side]:
    try:
        repository = pygit2.Repository(str(asked.repository))
    except pygit2.GitError:
        raise LocalPreviewImpossible(f"{asked.repository} is no working copy of git") from None
    base, head = _commit(repository, asked.base), _commit(repository, asked.head)
    if asked.from_branching:
        origin = repository.merge_base(base.id, head.id)
        if origin is None:
            raise LocalPreviewImpossible(
                f"{asked.base} and {asked.head} have no commit in common here; fetch the whole history (a shallow clone"
                " has not all of it)"
            )
        base = repository[origin].peel(pygit2.Commit)
    sides = _side(asked, repository, base), _side(asked, repository, head)
    if asked.restricted and not _own_pillar(asked) and sides[0].pillar.digest != sides[1].pillar.digest:
        return sides[0], replace(sides[1], pillar=sides[0].pillar, pillar_problem=NOT_RENDERED)
    return sides


def _own_pillar(asked: LocalPreview) -> bool:
    """Whether all folders of pillar are of the working copy, so that who changes it can read them."""
    folders = (folder for folders in asked.pillar_roots.values() for folder in folders)
    return all(_inside(asked.repository, folder) is not None for folder in folders)


def _commit(repository: pygit2.Repository, ref: str) -> pygit2.Commit:
    for name in (ref, f"origin/{ref}"):
        try:
            return repository.revparse_single(name).peel(pygit2.Commit)
        except (KeyError, ValueError, pygit2.GitError):
            continue
    raise LocalPreviewImpossible(
        f"{ref} is no branch, tag or commit of {repository.path}; fetch it first (CI often has a shallow clone: fetch"
        " with its whole history)"
    )


def _side(asked: LocalPreview, repository: pygit2.Repository, commit: pygit2.Commit) -> _Side:
    files = _snapshot(asked, repository, commit, asked.file_roots)
    pillar = _snapshot(asked, repository, commit, asked.pillar_roots)
    try:
        policy, problem = (read_policy(files, asked.options.nodegroups) if files.oid(POLICY_FILE) else Policy()), ""
    except PolicyInvalid as error:
        policy, problem = Policy(), f"saltern.yaml cannot be used, and counts as empty: {error}"
    return _Side(commit, files, pillar, policy, problem)


def _snapshot(
    asked: LocalPreview, repository: pygit2.Repository, commit: pygit2.Commit, roots: Mapping[str, Sequence[str]]
) -> Snapshot:
    """Folders of the commit; those outside of the working copy as they are on disk."""
    layers: list[tuple[str, GitLayer]] = []
    outside: dict[str, list[str]] = {}
    for saltenv, folders in roots.items():
        for folder in folders:
            inside = _inside(asked.repository, folder)
            if inside is None:
                outside.setdefault(saltenv, []).append(folder)
            else:
                layers.append((saltenv, GitLayer.of(repository.path, _REMOTE, str(commit.id), inside)))
    return snapshot_of(outside, layers)


def _inside(repository: Path, folder: str) -> str | None:
    """The folder as git names it; None when it is not of the working copy."""
    path = (repository / folder).resolve()
    root = repository.resolve()
    if not path.is_relative_to(root):
        return None
    return "" if path == root else path.relative_to(root).as_posix()


def _compare(
    asked: LocalPreview,
    sides: tuple[_Side, _Side],
    comparer: Comparer,
    found: Comparison,
    progress: Callable[[int, int], None],
) -> tuple[tuple[str, str], ...]:
    """Compare the commits for all minions; the targets of the top file, where the policy groups minions by them."""
    base, head = sides
    sources = SourceDifferences(
        lambda oid, length: head.files.blob_start(oid, length) or base.files.blob_start(oid, length)
    )
    names, work = sorted(asked.grains), partial(_worker, asked, sides, _ports(asked, base))
    with (
        Isolated(work, timeout=asked.timeout * _TOGETHER, memory=asked.memory) as isolated,
        Isolated(work, timeout=asked.timeout, memory=asked.memory) as alone,
    ):
        for start in range(0, len(names), _TOGETHER):
            progress(start, len(names))
            some = names[start : start + _TOGETHER]
            comparer.add(found, *_compiled(isolated, alone, some), sources)
            comparer.add_rendered(found, *_rendered(isolated, comparer.texts))
        progress(len(names), len(names))
        return _top_targets(isolated, names) if base.policy.previews.group_targets else ()


def _compiled(isolated: Isolated, alone: Isolated, minions: Sequence[str]) -> tuple[Any, Any]:
    """Both sides of some minions; where these have no end together, each by itself."""
    try:
        bases, heads = _SIDES.decode(isolated.ask(pickle.dumps(list(minions))))
        return bases, heads
    except Lost:
        bases, heads = [], []
    for minion in minions:
        try:
            one = _SIDES.decode(alone.ask(pickle.dumps([minion])))
        except Lost as lost:
            problem = Problem(message=f"there is no result: {lost}", pos=Pos(file="top.sls", stage=Stage.COMPILE))
            one = [[CompiledMinion(minion_id=minion, errors=(problem,))]] * 2
        bases += one[0]
        heads += one[1]
    return bases, heads


def _rendered(isolated: Isolated, texts: RenderedTexts) -> tuple[Any, Any]:
    """What templates write on both sides; nothing where that has no end."""
    questions = texts.questions()
    try:
        base, head = _SIDES.decode(isolated.ask(pickle.dumps(questions))) if any(questions) else ([], [])
        return base, head
    except Lost:
        return [], []


def _top_targets(isolated: Isolated, minions: Sequence[str]) -> tuple[tuple[str, str], ...]:
    try:
        bases, _ = _SIDES.decode(isolated.ask(pickle.dumps((top_questions(minions), {}))))
    except Lost:
        return ()
    return tuple(dict.fromkeys(target for each in bases for target in each.top_targets))


def _known(asked: LocalPreview, targets: Sequence[tuple[str, str]]) -> Known:
    """The minions whose grains are given. Of targets those count that need no pillar, which is not kept here."""
    matcher = person_matcher()

    def select(expression: str, kind: str) -> frozenset[str]:
        if kind == "nodegroup" or may_ask_pillar(kind, expression):
            return frozenset()
        return frozenset(
            name
            for name, grains in asked.grains.items()
            if match_minion(expression, Minion(id=name, grains=grains), {}, kind=cast(Any, kind), matcher=matcher)
        )

    return Known(grains=asked.grains, groups=groups_of_targets(targets, select))


def _ports(asked: LocalPreview, base: _Side) -> CompilePorts:
    if not asked.restricted:
        return NO_PORTS
    public = base.policy.previews.public_pillar
    return dummy_ports((), (), DummyPillar(key=os.urandom(32), public=public, own=_own_pillar(asked)))


def _worker(asked: LocalPreview, sides: tuple[_Side, _Side], ports: CompilePorts) -> Callable[[bytes], bytes]:
    state = WorkerState(ports=ports)
    requests = [_request(asked, side) for side in sides]

    def minions(names: Iterable[str]) -> tuple[Minion, ...]:
        return tuple(Minion(id=name, grains={"id": name, **asked.grains[name]}) for name in names)

    def work(payload: bytes) -> bytes:
        given = pickle.loads(payload)  # noqa: S301 - from the process that forked this one
        if isinstance(given, list):
            some = minions(given)
            return msgspec.msgpack.encode([list(answer(replace(each, minions=some), state)) for each in requests])
        sides = zip(requests, given, strict=True)
        asks = [rendering(replace(each, minions=minions(questions)), questions) for each, questions in sides]
        return msgspec.msgpack.encode([list(answer(each, state)) for each in asks])

    return work


def _request(asked: LocalPreview, side: _Side) -> CompileRequest:
    opts = {**asked.options.opts, **({"allow_py_renderer": False} if asked.restricted else {})}
    language = replace(asked.options, opts=opts)
    return CompileRequest(
        files=side.files,
        pillar=side.pillar,
        minions=(),
        language=language if side.problem else with_policy(language, side.files),
        allowed_facts=side.policy.facts,
    )


def _commits(asked: LocalPreview, sides: tuple[_Side, _Side]) -> dict[str, str]:
    """Path in the trees -> short id and subject of the newest commit of the change that touched it."""
    base, head = (str(side.commit.id) for side in sides)
    touched = newest_commits(pygit2.Repository(str(asked.repository)), base, head)
    found: dict[str, str] = {}
    for folder in (folder for folders in asked.file_roots.values() for folder in folders):
        inside = _inside(asked.repository, folder)
        if inside is not None:
            below = f"{inside}/" if inside else ""
            found |= {path[len(below) :]: text for path, text in touched.items() if path.startswith(below)}
    return found


def _moved(asked: LocalPreview, sides: tuple[_Side, _Side]) -> tuple[MovedSource, ...]:
    base, head = (side.commit for side in sides)
    if base.id == head.id:
        return ()
    subject = (head.message.splitlines() or [""])[0]
    name = asked.repository.resolve().name
    return (
        MovedSource(
            remote=name, base=str(base.id)[:8], head=str(head.id)[:8], author=head.author.name, subject=subject
        ),
    )
