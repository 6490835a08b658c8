"""Commands that wait for permission, and their answers. Pure; a part of `decision`."""

from __future__ import annotations

from collections.abc import Iterator

from controller.forges.client import Reaction
from controller.pull_requests.command_rules import resolve
from controller.pull_requests.instructions import (
    AskPermission,
    EndCommand,
    Look,
    PostAnswer,
    PullInstruction,
    PullRules,
    React,
    Record,
)
from controller.pull_requests.keys import find_by_key
from controller.store.pull_requests import CommandRecord


def command_steps(look: Look, rules: PullRules, now: float) -> list[PullInstruction]:
    """The next step of what people asked for in comments."""
    unknown = {each.user: None for each in look.record.commands if each.state == "open"}
    asks: list[PullInstruction] = [AskPermission(user) for user in unknown if user not in look.permissions]
    if asks:
        return asks
    for command in look.record.commands:
        if command.state == "open":
            record, said = resolve(look, rules, command, look.permissions[command.user], now)
            return [Record(record, said)]
    return [each for command in look.record.commands for each in _answers(look, command)]


def _answers(look: Look, command: CommandRecord) -> Iterator[PullInstruction]:
    if command.state not in ("done", "refused"):
        return
    if not command.reacted:
        yield React(command.comment, Reaction.DONE if command.state == "done" else Reaction.REFUSED)
    if command.answered:
        return
    key = look.keys.answer(command.comment)
    if not command.answer or find_by_key(look.comments, key) is not None:
        yield EndCommand(command.comment)
        return
    yield PostAnswer(command.comment, look.keys.with_key(command.answer, key))
