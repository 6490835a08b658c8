"""`saltern compile`: the language alone, from folders; for authors, editors and CI. Needs no controller."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from controller.cli import output
from controller.cli.failure import COMPILE, FAILED, Failure

_SHOW = ("lowstate", "highstate", "pillar", "top")


@click.command("compile")
@click.argument("sls", nargs=-1)
@click.option(
    "--file-root", "file_roots", multiple=True, metavar="[ENV=]DIR", help="Folder of states; may be repeated."
)
@click.option("--pillar-root", "pillar_roots", multiple=True, metavar="[ENV=]DIR", help="Folder of pillar.")
@click.option("--grains", type=click.Path(path_type=Path, dir_okay=False), help="YAML or JSON file with grains.")
@click.option("--id", "minion_id", default="minion", show_default=True, help="Id of the minion.")
@click.option("--saltenv", default="base", show_default=True, help="Environment of the SLS that are named.")
@click.option("--show", type=click.Choice(_SHOW), default="lowstate", show_default=True)
@click.option("--out", "--output", type=click.Choice(["json", "yaml"]), default="yaml", show_default=True)
@click.option(
    "-c", "--config-dir", type=click.Path(path_type=Path), help="Take roots and options of the language here."
)
def compile_command(
    sls: tuple[str, ...],
    file_roots: tuple[str, ...],
    pillar_roots: tuple[str, ...],
    grains: Path | None,
    minion_id: str,
    saltenv: str,
    show: str,
    out: str,
    config_dir: Path | None,
) -> int:
    """Compile the highstate that top.sls gives a minion, or only the SLS that are named.

    Every error is shown with its place, and the exit code is 4.
    """
    from gitfs.snapshot import directory_snapshot
    from highstate.compile import Settings, compile_minion, compile_sls
    from highstate.types import Minion

    language, states, pillar = _configured(config_dir)
    states = _roots(file_roots) or states
    pillar = _roots(pillar_roots) or pillar
    if not states:
        raise click.UsageError("say where the states are: --file-root DIR")
    files, pillar_files = directory_snapshot(states), directory_snapshot(pillar)
    minion = Minion(id=minion_id, grains={"id": minion_id, **_grains(grains)})
    settings = Settings(**language)
    if sls:
        compiled = compile_sls(files, pillar_files, minion, settings, sls, saltenv)
    else:
        compiled = compile_minion(files, pillar_files, minion, settings)
    for warning in compiled.warnings:
        output.remark(f"warning: {output.printable(str(warning))}")
    if compiled.errors:
        errors = [output.printable(str(error)) for error in compiled.errors]
        raise Failure(f"{minion_id}: {output.counted(len(errors), 'error')}", COMPILE, problems=errors)
    shown: dict[str, Any] = {
        "lowstate": [chunk.as_salt() for chunk in compiled.lowstate],
        "highstate": compiled.highstate,
        "pillar": compiled.pillar,
        "top": {env: list(names) for env, names in compiled.matches.items()},
    }
    output.document(shown[show], out)
    return 0


def _configured(config_dir: Path | None) -> tuple[dict[str, Any], dict[str, list[str]], dict[str, list[str]]]:
    """Options of the language, file_roots and pillar_roots of a controller's configuration."""
    if config_dir is None:
        return {}, {}, {}
    from controller.cli.configuration import settings_of

    settings = settings_of(config_dir)
    return dict(settings.language), settings.git.get("file_roots", {}), settings.git.get("pillar_roots", {})


def _roots(given: Sequence[str]) -> dict[str, list[str]]:
    roots: dict[str, list[str]] = {}
    for text in given:
        saltenv, found, folder = text.partition("=")
        if not found or "/" in saltenv:
            saltenv, folder = "base", text
        if not Path(folder).is_dir():
            raise click.UsageError(f"{folder} is no folder")
        roots.setdefault(saltenv, []).append(str(Path(folder).absolute()))
    return roots


def _grains(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    import yaml

    try:
        data = yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - safe
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise Failure(f"{path} cannot be read: {error}", FAILED) from None
    if data is not None and not isinstance(data, dict):
        raise Failure(f"{path} must hold a mapping of grains", FAILED)
    return data or {}
