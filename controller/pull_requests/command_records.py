"""Commands as the record of a pull request keeps them. Pure."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from controller.pull_requests.commands import AskPreview, parse
from controller.store.pull_requests import CommandRecord, PullRecord


def with_command(record: PullRecord, comment: str, **changes: Any) -> PullRecord:
    """The record with one of its commands changed."""
    commands = tuple(replace(each, **changes) if each.comment == comment else each for each in record.commands)
    return replace(record, commands=commands)


def target_of(command: CommandRecord) -> str:
    """The target of a command for a preview."""
    parsed = parse(command.text)
    return parsed.target if isinstance(parsed, AskPreview) else ""
