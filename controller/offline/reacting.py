"""What the reactors of a configuration would do about an event: for `saltern reactor test`. Nothing is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from controller.config.settings import ControllerSettings
from controller.offline.isolation import Isolated, Lost
from controller.offline.results import unicode_of
from controller.offline.show import GitLayers
from controller.offline.trees import snapshot_of
from controller.reactions.reactor_files import find_files
from controller.reactions.rendering import ReactorRenderer
from controller.runners import registry
from highstate.types import Value
from reactors.events import Event
from reactors.rules.native_rule import NativeRules, values_of
from reactors.rules.reaction import ReactionCall, Reactions
from reactors.rules.rule_engine import RuleOutcome
from reactors.rules.rule_pace import RuleVerdict


class ReactorTest(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an event."""

    reactions: list[dict[str, Any]] = []
    errors: list[str] = []
    warnings: list[str] = []


def try_reactors(
    settings: ControllerSettings,
    sls: Sequence[str],
    *,
    tag: str,
    data: dict[str, Value],
    git_files: GitLayers = (),
    timeout: float = 60.0,
    memory: int = 0,
) -> ReactorTest:
    """The reactions to an event, in a process of its own; an SLS that never ends is an error in the answer.

    Args:
        settings: options of the language and folders of the trees.
        sls: what answers events of this tag, as the option `reactor` has it.
        tag: of the event.
        data: of the event.
        git_files: trees of git remotes.
        timeout: seconds.
        memory: bytes that the process may use; 0: no bound.
    """

    def start() -> Callable[[bytes], bytes]:
        return lambda _: msgspec.msgpack.encode(_tested(settings, sls, tag, data, git_files))

    try:
        with Isolated(start, timeout=timeout, memory=memory) as isolated:
            return msgspec.msgpack.decode(isolated.ask(b""), type=ReactorTest)
    except Lost as lost:
        return ReactorTest(errors=[f"there is no result: {lost}"])


def _tested(
    settings: ControllerSettings, sls: Sequence[str], tag: str, data: dict[str, Value], git_files: GitLayers
) -> ReactorTest:
    from minion.grains.collect import collect

    roots = {env: list(folders) for env, folders in settings.trees.file_roots.items()}
    found = find_files(sls, snapshot_of(roots, git_files), beside=Path.cwd())
    renderer = ReactorRenderer(language=settings.language, grains=collect())
    made = renderer.reactions(found, tag=tag, data=data, parameters_of=registry.parameters_of)
    return _as_test(made)


def _as_test(made: Reactions) -> ReactorTest:
    return ReactorTest(
        reactions=[plain_reaction(each) for each in made.reactions],
        errors=[unicode_of(str(each)) for each in made.problems],
        warnings=[unicode_of(str(each)) for each in made.warnings],
    )


def plain_reaction(call: ReactionCall) -> dict[str, Any]:
    """A reaction as data: what each has, and what else it says."""
    plain = {
        "sls": call.sls,
        "id": call.id,
        "type": call.type,
        "fun": call.fun,
        "tgt": call.tgt,
        "tgt_type": call.tgt_type,
        "arg": list(call.arg),
        "kwarg": call.kwarg,
    }
    names = ("ret", "ret_config", "ret_kwargs", "batch", "subset", "timeout")
    return plain | {name: value for name in names if (value := getattr(call, name))}


def rule_reactions(rules: NativeRules, tag: str, data: dict[str, Value]) -> tuple[list[dict[str, Any]], list[str]]:
    """What native rules would do about an event, and what could not be done. Their pace is left out."""
    event = Event(id=0, tag=tag, time=0.0, data=data)
    reactions: list[dict[str, Any]] = []
    errors: list[str] = []
    for rule in rules.matching(tag):
        if rule.match.holds(values_of(event)):
            calls, wrong = RuleOutcome(rule=rule, about="", verdict=RuleVerdict.FIRE, event=event).calls()
            reactions += [plain_reaction(call) for call in calls]
            errors += wrong
    return reactions, errors
