"""`saltern lint`: what is wrong, or likely to go wrong, in a tree of states and pillar.

Needs no controller, and asks one with `--controller`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.compile_inputs import mapping_of, options_of, read_data, roots_of
from controller.cli.config_folder import missing_configuration, require_configuration
from controller.cli.configuration import settings_of
from controller.cli.failure import FAILED, Failure
from controller.cli.lint_output import Located, as_github, as_json, as_text, located
from controller.cli.trees import configured_layers
from controller.schema.keys import KeyView

if TYPE_CHECKING:
    from controller.offline.linting import LintJob
    from highstate.lint import Sample

_FILE = click.Path(path_type=Path, dir_okay=False)
_STATES, _PILLAR = ("states", "salt", "srv/salt"), ("pillar", "srv/pillar")
"""Folders of a repository that hold the trees, where it is not one tree itself."""


def _print_rules(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    from highstate.lint import RULES

    rows = [(name, rule.severity.value, rule.summary) for name, rule in RULES.items()]
    for line in output.plain_table(("rule", "severity", "finds"), rows):
        click.echo(line)
    context.exit()


@click.command("lint")
@click.argument("tree", required=False, type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--file-root", "file_roots", multiple=True, metavar="[ENV=]DIR", help="Folder of states; repeatable.")
@click.option("--pillar-root", "pillar_roots", multiple=True, metavar="[ENV=]DIR", help="Folder of pillar; repeatable.")
@click.option("--pillar-file", type=_FILE, help="YAML or JSON that is laid over the pillar.")
@click.option("--grains", multiple=True, type=_FILE, help="YAML or JSON with grains of a sample; repeatable.")
@click.option("--minions", type=_FILE, help="Ids of all minions, one a line: find targets that reach none of them.")
@click.option("--controller", "ask", is_flag=True, help="Ask the controller (see -c) for the ids of all minions.")
@click.option("--opt", "opts", multiple=True, metavar="NAME=YAML", help="A minion option of Salt's; repeatable.")
@click.option("--disable", multiple=True, metavar="RULE,...", help="Rules to leave out; repeatable.")
@click.option("--out", "--output", type=click.Choice(["text", "json", "github"]), default="text", show_default=True)
@click.option("--timeout", type=click.FloatRange(min=0.001), default=600.0, show_default=True, help="Seconds.")
@click.option(
    "-c",
    "--config-dir",
    type=click.Path(path_type=Path),
    help="Find what is included from this controller's remotes.",
)
@click.option("--rules", is_flag=True, is_eager=True, expose_value=False, callback=_print_rules, help="List the rules.")
def lint_command(
    tree: Path | None,
    file_roots: tuple[str, ...],
    pillar_roots: tuple[str, ...],
    pillar_file: Path | None,
    grains: tuple[Path, ...],
    minions: Path | None,
    ask: bool,
    opts: tuple[str, ...],
    disable: tuple[str, ...],
    out: str,
    timeout: float,
    config_dir: Path | None,
) -> int:
    """Check a whole tree, for a Debian, a RedHat, a SUSE and a FreeBSD, or for the grains that are given.

    TREE holds top.sls, or has folders `states` (or `salt`) and `pillar`. The exit code is 1 when there are errors or
    warnings. A comment `# saltern: ignore=RULE` switches a rule off for its line, and alone in a line for the next.
    """
    from controller.offline.cases import BadCase, Case
    from controller.offline.isolation import Lost
    from controller.offline.linting import LintJob, lint
    from highstate.lint import Severity

    if ask and minions is not None:
        raise click.UsageError("--minions and --controller say the same: give one of them")
    if config_dir is not None:
        require_configuration(config_dir)
    states, pillar = _roots(tree, file_roots, pillar_roots)
    try:
        settings = Case(opts=options_of(opts)).settings()
    except BadCase as error:
        raise click.UsageError(str(error)) from None
    with contextlib.ExitStack() as stack:
        remotes = stack.enter_context(configured_layers(config_dir)) if config_dir is not None else ([], [])
        job = LintJob(
            file_roots=states,
            pillar_roots=pillar,
            git=tuple(remotes[0]),
            pillar=mapping_of(pillar_file, "pillar"),
            samples=_samples(grains),
            settings=settings,
            disabled=_disabled(disable),
            **(_of_controller(config_dir) if config_dir is not None else {}),
            minions=_accepted(config_dir or _here()) if ask else _ids(minions),
        )
        try:
            found = located(lint(job, timeout=timeout), {"states": states, "pillar": pillar})
        except Lost as lost:
            raise Failure(f"the trees cannot be linted: {lost}", FAILED) from None
    if remotes[0]:  # a formula's own faults are for those who write it
        found = [one for one in found if Path(one.path).exists()]
    _show(found, out, job)
    if config_dir is None and out == "text" and any(one.finding.rule == "missing-sls" for one in found):
        _name_remotes()
    return 1 if any(one.finding.severity is not Severity.NOTICE for one in found) else 0


def _of_controller(config_dir: Path) -> dict[str, Any]:
    """What the controller's file says of reactors and jobs."""
    from controller.offline.reactors_on_disk import reactors_on_disk

    settings = settings_of(config_dir)
    reactors, jobs = settings.reactor, settings.schedule.jobs
    return {"reactors": reactors, "reactor_files": reactors_on_disk(reactors), "jobs": jobs}


def _here() -> Path:
    return Path(os.environ.get("SALTERN_CONFIG_DIR") or options.DEFAULT_CONFIG_DIR)


def _name_remotes() -> None:
    """Where a controller is configured here, what an SLS includes may be in its remotes."""
    here = _here()
    if not missing_configuration(here):
        output.remark(f"to find what is included from the controller's remotes, too: saltern lint -c {here}")


def _show(found: Sequence[Located], out: str, job: LintJob) -> None:
    if out == "json":
        click.echo(as_json(found))
        return
    for one in found:
        click.echo(output.printable(as_text(one)) if out == "text" else as_github(one))
    if out == "text":
        counts: dict[str, int] = {}
        for one in found:
            counts[one.finding.severity.value] = counts.get(one.finding.severity.value, 0) + 1
        summary = ", ".join(output.counted(count, word) for word, count in sorted(counts.items())) or "nothing found"
        output.remark(f"{summary} ({', '.join(sample.name for sample in job.samples)})")


def _roots(
    tree: Path | None, file_roots: Sequence[str], pillar_roots: Sequence[str]
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    states, pillar = roots_of(file_roots), roots_of(pillar_roots)
    if tree is None and not states:
        raise click.UsageError("say which tree: saltern lint DIR, or --file-root DIR")
    if tree is not None:
        states = states or {"base": [str(_inside(tree, _STATES) or tree)]}
        own = _inside(tree, _PILLAR)
        if not pillar and own is not None:
            pillar = {"base": [str(own)]}
    return states, pillar


def _inside(tree: Path, names: Sequence[str]) -> Path | None:
    """The first of these folders that there is, unless the tree itself has a top file."""
    if (tree / "top.sls").is_file():
        return None
    return next((tree / name for name in names if (tree / name).is_dir() and _is_tree(tree, name)), None)


def _is_tree(repository: Path, name: str) -> bool:
    """A folder `salt` may be a formula for Salt itself: it is a tree when it has a top file, or pillar beside it."""
    whole = any((repository / pillar).is_dir() for pillar in _PILLAR)
    return name != "salt" or whole or (repository / name / "top.sls").is_file()


def _samples(files: Sequence[Path]) -> tuple[Sample, ...]:
    from highstate.lint import SAMPLES, Sample

    if not files:
        return SAMPLES
    samples: list[Sample] = []
    for path in files:
        data: Any = read_data(path)
        if not isinstance(data, dict):
            raise Failure(f"{path} must hold a mapping of grains", FAILED)
        samples.append(Sample(name=path.stem, grains=data))
    return tuple(samples)


def _ids(path: Path | None) -> tuple[str, ...]:
    """The lines of a file."""
    if path is None:
        return ()
    try:
        found = tuple(filter(None, (row.strip() for row in path.read_text(encoding="utf-8").splitlines())))
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{path} cannot be read: {error}", FAILED) from None
    if not found:
        raise Failure(f"{path} names no minion", FAILED, hint="write the id of each on a line of its own")
    return found


def _accepted(config_dir: Path) -> tuple[str, ...]:
    """The minions whose keys a running controller has accepted."""
    with Client(config_dir) as client:
        found = tuple(key.minion for key in client.get("/keys", tuple[KeyView, ...]) if key.state == "accepted")
    if not found:
        raise Failure("the controller has accepted no minion", FAILED, hint="leave --controller out")
    return found


def _disabled(given: Sequence[str]) -> frozenset[str]:
    from highstate.lint import RULES

    names = frozenset(name.strip() for text in given for name in text.split(",") if name.strip())
    if unknown := sorted(names - set(RULES)):
        raise click.UsageError(f"there is no rule {unknown[0]!r}; `saltern lint --rules` lists them")
    return names
