"""`saltern doctor`: checks of this machine. Those of a minion need none of the controller's libraries."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, cast

import click

from controller.cli import options
from controller.cli.config_folder import check_folder
from controller.cli.failure import FAILED, OK, USAGE, Failure, with_pages
from minion.doctor.finding import CheckFinding

_COLOURS = {"OK": "green", "WARN": "yellow", "FAIL": "red"}
_EXAMINERS = {
    "controller": "controller.doctor.controller",
    "minion": "minion.doctor.minion",
    "gateway": "gateway.doctor",
}


class Examine(Protocol):
    """All checks of a machine."""

    def __call__(self, config_dir: Path, seconds: float) -> Iterator[CheckFinding]:
        """Find."""


@click.command("doctor")
@click.option("--minion", is_flag=True, help="Check a minion, not a controller.")
@click.option("--gateway", is_flag=True, help="Check a gateway for stock salt-minions.")
@click.option(
    "-t", "--timeout", type=click.FloatRange(0.1, 600), default=20.0, show_default=True, help="Seconds for the network."
)
@options.out
@options.config_dir
def doctor_command(minion: bool, gateway: bool, timeout: float, out: str, config_dir: Path) -> int:
    """Check this machine, and say what to do about what is wrong. Changes nothing; exit code 1 for a FAIL."""
    if minion and gateway:
        raise Failure("--minion and --gateway are two calls", USAGE)
    check_folder(config_dir)
    role = "minion" if minion else "gateway" if gateway else "controller"
    found = []
    for each in _examiner(role)(config_dir.absolute(), timeout):
        found.append(each)
        if out == "text":
            _tell(each)
    if out != "text":
        click.echo(_document([_plain(each) for each in found], out), nl=False)
    bad, doubtful = (sum(each.verdict == verdict for each in found) for verdict in ("FAIL", "WARN"))
    warnings = f"{doubtful} warning{'' if doubtful == 1 else 's'}"
    click.echo(f"{len(found)} checks: {bad} failed, {warnings}", err=True)
    return FAILED if bad else OK


def _examiner(role: str) -> Examine:
    try:
        return cast(Examine, importlib.import_module(_EXAMINERS[role]).examine)
    except ModuleNotFoundError as error:
        hint = (
            "`saltern doctor --minion` checks a minion; pip install 'saltern[controller]' brings what a controller has"
        )
        raise Failure(f"no controller is installed here ({error.name} is missing)", USAGE, hint=hint) from None


def _tell(finding: CheckFinding) -> None:
    colour = None if os.environ.get("NO_COLOR") else _COLOURS[finding.verdict]
    click.echo(f"{click.style(f'{finding.verdict:4}', fg=colour)}  {finding.check}: {_one_line(finding.text)}")
    if finding.todo:
        click.echo(f"      {_one_line(finding.todo)}")


def _one_line(text: str) -> str:
    """Without control characters: others may have written it."""
    return with_pages("".join(letter if letter.isprintable() else " " for letter in text))


def _document(found: list[dict[str, str | int]], out: str) -> str:
    """As other verbs have it (`controller.cli.output`, which needs a library of the controller)."""
    if out == "json":
        return json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    import yaml

    return str(yaml.safe_dump(found, sort_keys=False, allow_unicode=True))


def _plain(finding: CheckFinding) -> dict[str, str | int]:
    return {
        "schema_version": options.SCHEMA_VERSION,
        "check": finding.check,
        "verdict": finding.verdict,
        "text": finding.text,
        "todo": finding.todo,
    }
