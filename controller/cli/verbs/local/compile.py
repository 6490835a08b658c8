"""`saltern compile`: the language alone, from folders and git; for authors, editors and CI. Needs no controller."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from controller.cli import output
from controller.cli.compile_inputs import Given, facts_of, git_layers, language_of, mapping_of, options_of, roots_of
from controller.cli.failure import COMPILE, FAILED, Failure
from controller.cli.trees import Layers, configured_layers

if TYPE_CHECKING:
    from controller.offline import Case
    from controller.offline.results import Form

_SHOW = ("lowstate", "highstate", "pillar", "top", "sls", "reads")
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("compile")
@click.argument("sls", nargs=-1)
@click.option("--file-root", "file_roots", multiple=True, metavar="[ENV=]DIR", help="Folder of states; repeatable.")
@click.option("--pillar-root", "pillar_roots", multiple=True, metavar="[ENV=]DIR", help="Folder of pillar; repeatable.")
@click.option("--git", multiple=True, metavar="[ENV=]URL@REF[:ROOT]", help="States from a commit of a git remote.")
@click.option("--pillar-git", multiple=True, metavar="[ENV=]URL@REF[:ROOT]", help="Pillar from a git remote.")
@click.option("--pillar-file", type=_FILE, help="YAML or JSON that is laid over the pillar.")
@click.option("--grains", type=_FILE, help="YAML or JSON file with grains.")
@click.option("--facts", type=_FILE, help="Recorded answers of functions that need the machine (YAML or JSON list).")
@click.option("--id", "minion_id", default="", metavar="ID", help="Id of the minion.  [default: minion]")
@click.option("--saltenv", default=None, metavar="ENV", help="Environment of the SLS; of a highstate the only one.")
@click.option("--sls", "named", multiple=True, metavar="A,B", help="Compile these SLS.")
@click.option("--highstate", is_flag=True, help="Compile what the top file gives (as it is without --sls).")
@click.option("--opt", "opts", multiple=True, metavar="NAME=YAML", help="A minion option of Salt's; repeatable.")
@click.option("--show", type=click.Choice(_SHOW), default="lowstate", show_default=True)
@click.option("--check-files", is_flag=True, help="Render the templates of managed files too.")
@click.option("--out", "--output", type=click.Choice(["json", "yaml"]), default="yaml", show_default=True)
@click.option("--batch", type=click.File("rb"), metavar="CASES.jsonl", help="Compile each line; - is stdin.")
@click.option("--timeout", type=click.FloatRange(min=0.001), default=60.0, show_default=True, help="Seconds a case.")
@click.option("--memory", type=click.IntRange(min=0), default=4096, show_default=True, help="MiB a case; 0: no bound.")
@click.option(
    "-c", "--config-dir", type=click.Path(path_type=Path), help="Take roots, remotes and options of the language here."
)
def compile_command(sls: tuple[str, ...], batch: Any, out: str, timeout: float, memory: int, **given: Any) -> int:
    """Compile the highstate that the top file gives a minion, or only the SLS that are named.

    Every error is shown with its place, and the exit code is 4.
    """
    inputs = Given(**{**given, "named": (*sls, *given["named"])})
    if batch is not None:
        return _batch(batch, inputs, timeout, memory << 20)
    return _one(inputs, cast("Form", out), timeout, memory << 20)


def _batch(batch: Any, inputs: Given, timeout: float, memory: int) -> int:
    from controller.offline import run_batch

    if inputs.git or inputs.pillar_git:
        raise click.UsageError("--git goes with one compile; the cases of --batch name folders")
    failed = run_batch(batch, sys.stdout.buffer, timeout=timeout, memory=memory, defaults=_keys(inputs))
    return COMPILE if failed else 0


def _one(inputs: Given, form: Form, timeout: float, memory: int) -> int:
    from controller.offline import BadCase
    from controller.offline.one import show_one

    case = _case(inputs)
    with contextlib.ExitStack() as stack:
        mirrors = stack.enter_context(tempfile.TemporaryDirectory(prefix="saltern-compile-"))
        configured: tuple[Layers, Layers] = ([], [])
        if inputs.config_dir is not None:
            configured = stack.enter_context(configured_layers(inputs.config_dir))
        # What is named on the command line stands in place of what is configured.
        files = git_layers(inputs.git, Path(mirrors, "files")) or ([] if inputs.file_roots else configured[0])
        pillar = git_layers(inputs.pillar_git, Path(mirrors, "pillar")) or (
            [] if inputs.pillar_roots else configured[1]
        )
        if not case.file_roots and not files and case.show != "pillar":
            raise click.UsageError("say where the states are: --file-root DIR")
        try:
            shown = show_one(case, form, timeout=timeout, memory=memory, git_files=files, git_pillar=pillar)
        except BadCase as error:
            raise click.UsageError(str(error)) from None
    for warning in shown.warnings:
        output.remark(f"warning: {output.printable(warning)}")
    if shown.errors:
        errors = [output.printable(error) for error in shown.errors]
        raise Failure(f"{case.minion}: {output.counted(len(errors), 'error')}", COMPILE, problems=errors)
    click.echo(shown.text, nl=False)
    return 0


def _case(inputs: Given) -> Case:
    from controller.offline import BadCase, parse_case

    try:
        return parse_case(_keys(inputs))[0]
    except BadCase as error:
        raise Failure(str(error), FAILED) from None


def _keys(inputs: Given) -> dict[str, Any]:
    """The keys of a case that the options say something about."""
    language, states, pillar = _configured(inputs.config_dir)
    keys: dict[str, Any] = {
        "file_roots": roots_of(inputs.file_roots) or states,
        "pillar_roots": roots_of(inputs.pillar_roots) or pillar,
        "pillar": mapping_of(inputs.pillar_file, "pillar"),
        "grains": mapping_of(inputs.grains, "grains"),
        "facts": facts_of(inputs.facts),
        "minion_id": inputs.minion_id,
        "saltenv": inputs.saltenv,
        "sls": [name for names in inputs.named for name in names.split(",")],
        "highstate": inputs.highstate,
        "opts": {**language, **options_of(inputs.opts)},
        "show": inputs.show,
        "check_files": inputs.check_files,
    }
    if keys["sls"] and keys["highstate"]:
        raise click.UsageError("give either SLS or --highstate, not both")
    return {key: value for key, value in keys.items() if value}


def _configured(config_dir: Path | None) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Options of the language, file_roots and pillar_roots of a controller's configuration."""
    if config_dir is None:
        return {}, {}, {}
    from controller.cli.configuration import settings_of

    settings = settings_of(config_dir)
    return language_of(settings.language), _lists(settings.trees.file_roots), _lists(settings.trees.pillar_roots)


def _lists(roots: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    return {saltenv: list(folders) for saltenv, folders in roots.items()}
