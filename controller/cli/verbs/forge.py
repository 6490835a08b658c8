"""`saltern forge`: which projects of which forges are ours, and what we may do there. Needs no controller."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from controller.cli import options, output
from controller.cli.failure import FAILED, OK, Failure
from options.near_names import did_you_mean

if TYPE_CHECKING:
    from controller.config.settings import ControllerSettings
    from controller.schema.forges import ForgeAccessView, ForgeProjectView


@click.group("forge")
def forge_command() -> None:
    """The forges whose pull requests are previewed."""


@forge_command.command("list")
@options.out
@options.config_dir
def list_forges(out: str, config_dir: Path) -> None:
    """The projects that remotes of the configuration belong to."""
    from controller.offline.forge_access import forge_projects

    settings = _settings(config_dir)
    projects = forge_projects(settings)
    if out != "text":
        output.document(projects, out)
    else:
        rows = [(each.forge, each.kind, each.project, ", ".join(each.remotes), each.api) for each in projects]
        output.table(("forge", "kind", "project", "remotes", "api"), rows)
    without = [each.name for each in settings.forges if each.name not in {project.forge for project in projects}]
    if without:
        output.remark(f"no remote belongs to {', '.join(without)}; name them in `projects` of the option forges")


@forge_command.command("check")
@click.argument("names", nargs=-1)
@options.out
@options.config_dir
def check(names: tuple[str, ...], out: str, config_dir: Path) -> int:
    """Prove each access that previews need (of forges or projects; all without NAMES); changes nothing there."""
    from controller.offline.forge_access import forge_projects, prove_access

    settings = _settings(config_dir)
    results = prove_access(settings, _wanted(forge_projects(settings), names))
    if out != "text":
        output.document(results, out)
    else:
        _show(results)
    return OK if results and all(each.ok for each in results) else FAILED


def _settings(config_dir: Path) -> ControllerSettings:
    from controller.cli.configuration import settings_of

    settings = settings_of(config_dir, whole=True)
    if not settings.forges:
        raise Failure("no forge is configured", hint="see the option forges of the controller's configuration")
    return settings


def _wanted(projects: Sequence[ForgeProjectView], names: Sequence[str]) -> Sequence[ForgeProjectView]:
    known = {name for each in projects for name in (each.forge, each.project)}
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"there are {', '.join(sorted(known)) or 'none'}"
            raise Failure(f"there is no forge or project {name!r}", hint=hint)
    found = [each for each in projects if not names or each.forge in names or each.project in names]
    if not found:
        raise Failure("no remote belongs to a forge", hint="name the remotes in `projects` of the option forges")
    return found


def _show(results: Sequence[ForgeAccessView]) -> None:
    output.table(
        ("forge", "result", "access", "detail"),
        [(each.forge, "ok" if each.ok else "failed", each.access, each.detail) for each in results],
    )
    lacking = sum(not each.ok for each in results)
    if lacking:
        output.remark(f"{lacking} of {len(results)} are missing; docs/forges.md says how each is given")
