"""`saltern preview`."""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.compile_inputs import mapping_of, options_of
from controller.cli.failure import NO_TARGET, USAGE, Failure
from controller.cli.report_output import FORMS, Form, clear, exit_code, form_of, last_report, progress, save, show
from controller.cli.verbs.pulls import wanted
from controller.schema.preview_stream import PreviewProgress
from controller.schema.pulls import PullView
from controller.schema.reports import PreviewReport
from controller.schema.requests import PreviewQuestion
from controller.schema.targets import TargetExpression

_HOW_TO_WRITE = "write it by `saltern run '*' grains.items --out json`"
_STATES = ("running", "queued", "failed", "done", "")
"""Of previews, in the order in which they are listed."""


@click.group("preview", invoke_without_command=True)
@click.option("--base", help="Branch, tag or commit to compare with.")
@click.option("--head", help="Branch, tag or commit to be previewed.")
@click.option("--target", help="Only minions that this glob (or the kind given) matches.")
@options.targeting
@click.option("--merge", is_flag=True, help="Compare the head as merged into the base, as a forge merges it.")
@click.option(
    "--live/--no-live",
    default=None,
    help="Ask all connected minions that would change, or none.  [a few of each change]",
)
@click.option("--restricted", is_flag=True, help="As for a stranger: no Python of the tree, no secrets, no test run.")
@click.option("--out", type=click.Choice(FORMS), default="text", show_default=True)
@click.option(
    "--save", "saved", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="Write the report to a file too, in the form that its name ends with: .txt, .json, .yaml, .html, .md (a"
    " comment); repeatable.",
)  # fmt: skip
@click.option("--exit-code", "detailed", is_flag=True, help="Exit 4 in place of 1 when the head does not compile.")
@options.config_dir
@click.option("--local", is_flag=True, help="Without a controller: compile two refs of a working copy here, as in CI.")
@click.option("--repo", default=".", type=click.Path(path_type=Path), help="--local: the working copy.  [.]")
@click.option(
    "--grains", type=click.Path(path_type=Path, dir_okay=False), help="--local: YAML or JSON, minion -> its grains."
)
@click.option("--file-root", "file_roots", multiple=True, metavar="[ENV=]DIR", help="--local: states, in --repo.  [.]")
@click.option("--pillar-root", "pillar_roots", multiple=True, metavar="[ENV=]DIR", help="--local: pillar, in --repo.")
@click.option("--opt", "opts", multiple=True, metavar="NAME=YAML", help="--local: a minion option of Salt's.")
@click.pass_context
def preview_command(
    context: click.Context,
    /,
    saved: tuple[Path, ...],
    out: str,
    detailed: bool,
    config_dir: Path,
    local: bool,
    **given: Any,
) -> int:
    """What moving from one git ref to another would change. Changes nothing.

    Exits 0 when nothing would change, 2 when something would, 1 when something must be mended first.
    """
    if context.invoked_subcommand is not None:
        return 0
    for name in ("base", "head"):
        if given[name] is None:
            raise click.UsageError(f"Missing option '--{name}'.")
    for path in saved:
        form_of(path)
    trees = {name: given.pop(name) for name in ("repo", "grains", "file_roots", "pillar_roots", "opts")}
    question = _question(**given)
    if local:
        report = _from_working_copy(question, given["live"], **trees)
    else:
        if any(trees[name] for name in ("grains", "file_roots", "pillar_roots", "opts")):
            raise click.UsageError("--grains, --file-root, --pillar-root and --opt go with --local")
        report = _from_controller(question, config_dir)
    return _end(report, cast(Form, out), saved, detailed=detailed)


@preview_command.command("list")
@click.argument("names", metavar="[FORGE|PROJECT]...", nargs=-1)
@options.out
@options.config_dir
def list_command(names: tuple[str, ...], out: str, config_dir: Path) -> None:
    """List the previews of pull requests: those that are made, wait, are done or failed, and what minions hold."""
    with Client(config_dir) as client:
        views = wanted(client.get("/pulls", tuple[PullView, ...]), names)
    if out != "text":
        output.document(views, out)
        return
    if not views:
        output.remark("no pull request is open that was looked at; `saltern forge list` shows what is watched")
        return
    rows = sorted(views, key=lambda view: (_STATES.index(view.preview), -(view.preview_since or 0)))
    output.table(("Pull request", "Head", "Preview", "Since", "Held by", "Address"), [_row(view) for view in rows])


def _row(view: PullView) -> tuple[str, ...]:
    count = sum(len(held.minions) for held in view.held)
    return (
        f"{view.project}#{view.number}",
        view.head[:8],
        (view.preview or "none") + (" (restricted)" if view.restricted else ""),
        output.ago(view.preview_since),
        f"{count} minion{'s' * (count != 1)}" if count else "",
        view.url,
    )


def _end(report: PreviewReport, out: Form, saved: Sequence[Path], *, detailed: bool) -> int:
    for path in saved:
        save(report, path)
    show(report, out)
    return exit_code(report, detailed=detailed)


def _question(
    *, base: str, head: str, target: str | None, kind: str | None, live: bool | None, merge: bool, restricted: bool
) -> PreviewQuestion:
    if kind is not None and target is None:
        raise click.UsageError(f"a kind of target ({kind}) needs --target")
    return PreviewQuestion(
        base=base,
        head=head,
        target=None if target is None else TargetExpression(kind=kind or "glob", expression=target),  # type: ignore[arg-type]  # a choice of click's
        live="sample" if live is None else "all" if live else "none",
        merge=merge,
        restricted=restricted,
    )


def _from_controller(question: PreviewQuestion, config_dir: Path) -> PreviewReport:
    with Client(config_dir) as client:
        return last_report(client.stream("/preview", question))


def _from_working_copy(
    question: PreviewQuestion,
    live: bool | None,
    *,
    repo: Path,
    grains: Path | None,
    file_roots: Sequence[str],
    pillar_roots: Sequence[str],
    opts: Sequence[str],
) -> PreviewReport:
    from controller.offline.cases import BadCase, parse_case
    from controller.offline.previewing import LocalPreview, LocalPreviewImpossible, preview_locally

    if grains is None:
        raise click.UsageError("--local needs --grains: `saltern run '*' grains.items --out json` writes the file")
    if live:
        raise click.UsageError("--live asks minions, which --local has not")
    try:
        asked = LocalPreview(
            repository=repo,
            base=question.base,
            head=question.head,
            from_branching=question.merge,
            file_roots=_environments(file_roots) or {"base": ["."]},
            pillar_roots=_environments(pillar_roots),
            grains=_chosen(mapping_of(grains, "grains by minion"), question.target),
            options=parse_case({"opts": options_of(opts)})[0].settings(),
            restricted=question.restricted,
        )
        return preview_locally(
            asked, time.time(), lambda done, of: progress(PreviewProgress(text="compiling", done=done, of=of))
        )
    except (LocalPreviewImpossible, BadCase) as error:
        raise Failure(str(error)) from None
    finally:
        clear()


def _chosen(grains: Mapping[str, Any], target: TargetExpression | None) -> dict[str, Any]:
    """Grains of the minions that are meant."""
    if not grains:
        raise Failure("--grains names no minion", USAGE, hint=_HOW_TO_WRITE)
    for minion, found in grains.items():
        if not isinstance(found, Mapping):
            text = f"--grains: the grains of {minion} must be a mapping, not a {type(found).__name__}"
            raise Failure(text, USAGE, hint=_HOW_TO_WRITE)
    match target:
        case None:
            chosen = dict(grains)
        case TargetExpression(kind="glob", expression=pattern):
            chosen = {minion: each for minion, each in grains.items() if fnmatch.fnmatchcase(minion, pattern)}
        case TargetExpression(kind="list", expression=names):
            chosen = {minion: each for minion, each in grains.items() if minion in names.split(",")}
        case _:
            raise click.UsageError("with --local a target is a glob or a list (-L)")
    if not chosen:
        raise Failure("no minion of --grains is meant", NO_TARGET, hint=f"it has {', '.join(sorted(grains)[:5])}")
    return chosen


def _environments(given: Sequence[str]) -> dict[str, list[str]]:
    from controller.offline.trees import environment_of

    roots: dict[str, list[str]] = {}
    for text in given:
        saltenv, folder = environment_of(text)
        roots.setdefault(saltenv, []).append(folder)
    return roots
