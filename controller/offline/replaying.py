"""What reactors and native rules would have done about recorded events: for `saltern reactor replay`. Nothing is done.

The pace of rules is followed by the times of the events. Loop guards and bounds of the controller are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from controller.config.settings import ControllerSettings
from controller.offline.isolation import Isolated, Lost
from controller.offline.reacting import plain_reaction
from controller.offline.results import unicode_of
from controller.offline.show import GitLayers
from controller.offline.trees import snapshot_of
from controller.policy.reading import PolicyInvalid, read_policy
from controller.reactions.reactor_files import ReactorFiles, find_files
from controller.reactions.rendering import ReactorRenderer
from controller.runners import registry
from reactors.events import Event
from reactors.rules.native_rule import NativeRules
from reactors.rules.reactor_map import ReactorMap, sls_of
from reactors.rules.rule_engine import RuleEngine, RuleOutcome
from reactors.tags import as_salt, stamp_of

OWN_TAGS = "saltern/reaction/"


class Replayed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one event would have set off."""

    event: str
    """Its id."""
    tag: str
    time: float
    minion: str = ""
    rule: str = ""
    """The native rule; empty: reactors."""
    verdict: str = ""
    """Of a rule: fire, escalate, waiting, or why it would not have fired."""
    sls: list[str] = []
    reactions: list[dict[str, Any]] = []
    errors: list[str] = []
    warnings: list[str] = []


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """All of them, in the order of the events."""

    firings: list[Replayed] = []
    error: str = ""


def replay(
    settings: ControllerSettings, events: Sequence[Event], *, git_files: GitLayers = (), timeout: float = 600.0
) -> Replay:
    """What these events would have set off, found in a process of its own that is ended after `timeout` seconds.

    Args:
        settings: options of the language, reactors and rules of the controller's file, folders of the trees.
        events: oldest first.
        git_files: trees of git remotes; reactors and rules of their `saltern.yaml` count, too.
    """

    def start() -> Callable[[bytes], bytes]:
        return lambda _: msgspec.msgpack.encode(_replayed(settings, events, git_files))

    try:
        with Isolated(start, timeout=timeout) as isolated:
            return msgspec.msgpack.decode(isolated.ask(b""), type=Replay)
    except Lost as lost:
        return Replay(error=f"there is no result: {lost}")


def _replayed(settings: ControllerSettings, events: Sequence[Event], git_files: GitLayers) -> Replay:
    from minion.grains.collect import collect

    roots = {env: list(folders) for env, folders in settings.trees.file_roots.items()}
    tree = snapshot_of(roots, git_files)
    try:
        policy = read_policy(tree, settings.language.nodegroups)
    except PolicyInvalid as error:
        return Replay(error=str(error))
    reactors = ReactorMap((*settings.reactor.entries, *policy.reactor.entries))
    named = {rule.name: rule for rule in (*policy.rules.rules, *settings.rules.rules)}
    rules, engine = NativeRules(tuple(named.values())), RuleEngine()
    renderer = ReactorRenderer(language=settings.language, grains=collect())
    files: dict[tuple[str, ...], ReactorFiles] = {}
    firings: list[Replayed] = []
    for event in events:
        firings += [_of_rule(each, engine) for each in engine.due(rules, event.time)]
        if event.tag.startswith(OWN_TAGS):
            continue
        engine.resolved(rules, event)
        firings += [_of_rule(each, engine) for each in engine.observe(rules, event, event.time)]
        sls = sls_of(reactors.matching(event.tag))
        if sls:
            found = files.setdefault(sls, find_files(sls, tree, beside=Path.cwd()))
            firings.append(_of_reactors(event, sls, found, renderer))
    if events:
        last = max(engine.due_at, events[-1].time)
        firings += [_of_rule(each, engine) for each in engine.due(rules, last)] if last < float("inf") else []
    return Replay(firings=firings)


def _of_rule(outcome: RuleOutcome, engine: RuleEngine) -> Replayed:
    event = outcome.event
    calls, errors = outcome.calls(stamp_of(event)) if outcome.fires else ((), ())
    if outcome.fires:
        engine.paces.fired(outcome.rule.name, outcome.about, event.time)
    return Replayed(
        event=str(event.id),
        tag=event.tag,
        time=event.time,
        minion=event.minion,
        rule=outcome.rule.name,
        verdict=outcome.verdict.value,
        reactions=[plain_reaction(call) for call in calls],
        errors=list(errors),
    )


def _of_reactors(event: Event, sls: Sequence[str], found: ReactorFiles, renderer: ReactorRenderer) -> Replayed:
    data = as_salt(event)
    made = renderer.reactions(found, tag=event.tag, data=data, parameters_of=registry.parameters_of)
    return Replayed(
        event=str(event.id),
        tag=event.tag,
        time=event.time,
        minion=event.minion,
        sls=list(sls),
        reactions=[plain_reaction(each) for each in made.reactions],
        errors=[unicode_of(str(each)) for each in made.problems],
        warnings=[unicode_of(str(each)) for each in made.warnings],
    )
