"""Lint as a command does it: trees from folders, Saltern's own states as the table, in a process that may be ended.

Called by `saltern lint`. What is a finding is `highstate.lint`'s affair.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from controller.offline.beacon_lint import BeaconLint
from controller.offline.isolation import Isolated, Lost
from controller.offline.reactor_lint import ReactorLint, reactor_paths
from controller.offline.schedule_lint import ScheduleLint
from controller.offline.trees import snapshot_of
from controller.orchestration.executor import FUNCTIONS
from controller.policy.ignored import expired
from controller.policy.policy import Policy
from controller.policy.reading import POLICY_FILE, PolicyInvalid, read_policy
from controller.runners import registry as controller_functions
from controller.runners.not_built import NOT_BUILT
from extmods.compile_modules import CompileModules, Tree
from gitfs.errors import GitfsError
from gitfs.tree.git_layer import GitLayer
from highstate.compile import CompileOptions
from highstate.lint import CallableNames, Finding, KnownMinions, KnownStates, LintTrees, Sample, Signature, lint_trees
from highstate.lint.functions import with_own_modules
from highstate.ports import NO_PORTS
from highstate.types import Value
from minion.arguments import ArgumentSpec, spec_of
from minion.engine import registry
from minion.execution import loader
from reactors.controller_jobs import ControllerJob
from reactors.rules.reactor_map import ReactorMap


@dataclass(frozen=True, slots=True, kw_only=True)
class LintJob:
    """What to lint."""

    file_roots: Mapping[str, Sequence[str]]
    pillar_roots: Mapping[str, Sequence[str]]
    git: tuple[tuple[str, GitLayer], ...] = ()
    """(environment, layer) of states that the folders may refer to."""
    pillar: Mapping[str, Value] = field(default_factory=dict)
    samples: tuple[Sample, ...]
    settings: CompileOptions
    disabled: frozenset[str] = frozenset()
    reactors: ReactorMap = field(default_factory=ReactorMap)
    """Of the controller's file: which SLS of the tree are reactors, too."""
    reactor_files: Mapping[str, str] = field(default_factory=dict)
    """Absolute paths that it names -> their texts."""
    jobs: Mapping[str, ControllerJob] = field(default_factory=dict)
    """Of the controller's file, too."""
    minions: tuple[str, ...] = ()
    """Ids of all minions; none: not known."""


def lint(job: LintJob, *, timeout: float, memory: int = 0) -> list[Finding]:
    """All findings. Raises Lost when the trees keep it from ending."""

    def start() -> Callable[[bytes], bytes]:
        return lambda _: msgspec.msgpack.encode(_answer(job))

    with Isolated(start, timeout=timeout, memory=memory) as isolated:
        answer = msgspec.msgpack.decode(isolated.ask(b""), type=tuple[Finding, ...] | str)
    if isinstance(answer, str):
        raise Lost(answer)
    return list(answer)


def _answer(job: LintJob) -> tuple[Finding, ...] | str:
    """The findings, or why the trees cannot be read."""
    try:
        return _findings(job)
    except GitfsError as error:
        return error.for_operator
    except OSError as error:
        return str(error)


def _findings(job: LintJob) -> tuple[Finding, ...]:
    trees = LintTrees(
        files=snapshot_of(job.file_roots, job.git), pillar_files=snapshot_of(job.pillar_roots), pillar=dict(job.pillar)
    )
    tree, settings, policy = Tree(trees.files), job.settings, Policy()
    of_policy: tuple[Finding, ...] = ()
    try:
        policy = read_policy(trees.files, settings.nodegroups)
        settings = replace(settings, missing_source=policy.missing_source)
        of_policy = tuple(Finding.of(each, "expired") for each in expired(policy, time.time()))
    except PolicyInvalid as error:
        of_policy = (Finding.of(error.problem, "policy"),)
    known = our_states()
    functions = with_own_modules(known.functions, trees.files)
    known = replace(
        known,
        minions=KnownMinions(job.minions),
        beacons=BeaconLint(trees.files),
        schedules=ScheduleLint(functions),
    )
    others = reactor_paths(trees.files, ReactorMap((*policy.reactor.entries, *job.reactors.entries)))
    reactors = ReactorLint(
        files=trees.files,
        functions=functions,
        minions=known.minions,
        policy_file=POLICY_FILE,
        reactors=policy.reactor,
        rules=policy.rules,
        pillar=trees.pillar_files,
        on_disk=job.reactor_files,
        jobs={**policy.schedule.jobs, **job.jobs},
    )
    return lint_trees(
        replace(trees, others=others),
        job.samples,
        known,
        settings=settings,
        disabled=job.disabled,
        ports=lambda minion: CompileModules(tree=tree, minion=minion, opts=job.settings.opts).over(NO_PORTS),
        more=(*of_policy, *reactors.findings(others)),
    )


def our_states() -> KnownStates:
    """The state functions of this version, the steps of orchestrations, and what these may call."""
    return KnownStates(
        ours={name: _signature(name) for name in registry.names()},
        steps={f"salt.{name}": _signature_of(spec_of(step, 1)) for name, step in FUNCTIONS.items()},
        functions=CallableNames(
            names={
                "execution": frozenset(loader.names()),
                "runner": frozenset(controller_functions.names("runner")),
                "wheel": frozenset(controller_functions.names("wheel")),
            },
            not_built=dict(NOT_BUILT.items()),
        ),
    )


def _signature(name: str) -> Signature:
    state, _, fun = name.partition(".")
    return _signature_of(registry.find(state, fun, "").spec)


def _signature_of(spec: ArgumentSpec) -> Signature:
    return Signature(
        arguments=frozenset({*spec.parameters, *spec.ignored, *spec.refused} - spec.supplied),
        required=frozenset(spec.required),
        takes_anything=spec.takes_anything,
    )
