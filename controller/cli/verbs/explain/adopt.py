"""`saltern adopt`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import click
from msgspec import structs

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.failure import FAILED, OK, PENDING, Failure
from controller.schema.fleet.adoption import AdoptCommit, AdoptedState, AdoptQuestion, AdoptView, RefusedState
from highstate.types import state_title

_NEXT = (
    "nothing was changed in git: --yes pushes the branch, --patch FILE writes it for `git am`, --repo DIR makes the "
    "branch in a clone"
)

_Tell: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """What becomes of the commits, beside being shown."""

    yes: bool
    dry_run: bool
    patch: str | None
    repo: Path | None
    out: str

    @property
    def kept_here(self) -> bool:
        """It is written to this machine; the controller pushes nothing."""
        return self.patch is not None or self.repo is not None


@click.command("adopt")
@click.argument("minion", shell_complete=offers.minions)
@click.argument("state", required=False)
@click.option("-y", "--yes", is_flag=True, help="Push the branch, and ask nothing.")
@click.option("--dry-run", is_flag=True, help="Show what would be pushed, and ask nothing.")
@click.option("--shared", is_flag=True, help="Also where other minions are changed by it.")
@click.option("--branch", default="", help="Name of the branch; `adopt/MINION/STATE-DIGEST`, if not given.")
@click.option("-m", "--message", default="", help="Message of the commit; it tells what was adopted, if not given.")
@click.option("--author", default="", help="Author of the commit, `Name <address>`; you, if not given.")
@click.option(
    "--patch",
    "patch",
    type=click.Path(allow_dash=True),
    help="Push nothing; write it to a file for `git am`; - is stdout.",
)
@click.option(
    "--repo",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Push nothing; make the branch in this clone, whose work tree stays as it is.",
)
@options.out
@options.config_dir
def adopt_command(
    minion: str, state: str | None, shared: bool, branch: str, message: str, author: str, config_dir: Path, **given: Any
) -> int:
    """Write what MINION has, and should keep, to a branch in git, for a pull request.

    STATE is an ID, a path or another name of a state (a glob); without it: all states that drifted. Contents of files,
    modes and owners, versions of packages, and services that run or start at boot can be adopted. It is tried first:
    the minion says that nothing would be changed there any more, and what else it changes is told. At a terminal it is
    shown, then you are asked whether it is pushed.

    Exit codes: 0 done, 1 something was refused, 2 nothing differs, 4 the trees would not compile, 5 no such minion.
    """
    wanted = _Wanted(**given)
    if sum((wanted.yes, wanted.dry_run, wanted.kept_here)) > 1:
        raise click.UsageError("--yes, --dry-run, and --patch or --repo cannot go together")
    if wanted.patch == "-" and wanted.out != "text":
        raise click.UsageError("--patch - and --out are both for stdout: give the patch a file")
    question = AdoptQuestion(
        minion=minion, state=state, push=wanted.yes, author=author, branch=branch, message=message, shared=shared
    )
    with Client(config_dir) as client:
        view = client.post("/adopt", question, AdoptView)
        _keep(view, wanted, shared=shared)
        if wanted.out != "text":
            output.document(view, wanted.out)
            return _code(view)
        _show(view, wanted)
        if not _is_asked(view, wanted):
            return _code(view)
        shown = tuple(commit.digest for commit in view.commits)
        view = client.post("/adopt", structs.replace(question, push=True, expected=shown), AdoptView)
    for commit in view.commits:
        _show_pushed(commit)
    return _code(view)


def _is_asked(view: AdoptView, wanted: _Wanted) -> bool:
    """Whether it is pushed after it was shown: somebody at a terminal says so."""
    if not view.commits or wanted.yes or wanted.kept_here:
        return False
    if obstacles := [commit.obstacle for commit in view.commits if commit.obstacle]:
        output.remark(f"it is not pushed: {obstacles[0]}")
        return False
    if wanted.dry_run or not (sys.stdin.isatty() and sys.stdout.isatty()):
        output.remark(_NEXT)
        return False
    branches = ", ".join(f"{commit.branch} to {commit.remote} ({commit.url})" for commit in view.commits)
    return click.confirm(output.printable(f"\nPush {branches}?"), err=True)


def _keep(view: AdoptView, wanted: _Wanted, *, shared: bool) -> None:
    """Write it to this machine, where that is asked for."""
    if not wanted.kept_here or not view.commits:
        return
    others = sorted({one for each in view.effects for one in each.minions if one != view.minion})
    if others and not shared:
        raise Failure(
            f"it changes {output.counted(len(others), 'other minion')}, too: {', '.join(others[:5])}",
            FAILED,
            hint="--shared takes that; without --patch and --repo you see it first",
        )
    if wanted.repo is not None and len(view.commits) > 1:
        raise Failure(f"{len(view.commits)} repositories are changed: --repo is for one; take --patch or --yes", FAILED)
    if wanted.repo is not None:
        make_branch(wanted.repo, view.commits[0])
    if wanted.patch is not None:
        _write_patch(wanted.patch, view.commits)


def _code(view: AdoptView) -> int:
    if view.refused or any(commit.error for commit in view.commits):
        return FAILED
    return OK if view.adopted else PENDING


def _write_patch(place: str, commits: Sequence[AdoptCommit]) -> None:
    with click.open_file(place, "wb") as file:
        for commit in commits:
            file.write(commit.patch)


def make_branch(repo: Path, commit: AdoptCommit) -> None:
    """The very commit that the controller has tried, in a clone; Failure where that cannot be made."""
    import pygit2

    from gitfs.mirror.file_commits import CommitIdentity, FileEdits, NotEdited, write_commit

    def signer(text: str) -> CommitIdentity:
        name, _, address = text.rpartition(" <")
        return CommitIdentity(name=name, email=address.rstrip(">"))

    edits = FileEdits(
        base=commit.base, files=commit.files, message=commit.message,
        author=signer(commit.author), committer=signer(commit.committer), at=commit.at,
    )  # fmt: skip
    try:
        repository = pygit2.Repository(repo)
        if commit.base not in repository:
            raise Failure(f"{repo} has no commit {commit.base[:8]} of {commit.url}: git fetch there first", FAILED)
        made = write_commit(repository, edits)
        if made != commit.commit:
            raise Failure(f"{repo} gives commit {made[:8]} where the controller has made {commit.commit[:8]}", FAILED)
        repository.references.create(f"refs/heads/{commit.branch}", made)
    except (pygit2.GitError, NotEdited, KeyError, ValueError) as error:
        raise Failure(f"no branch {commit.branch} in {repo}: {error}", FAILED) from None


def _show(view: AdoptView, wanted: _Wanted) -> None:
    """What was done, or would be."""

    def tell(text: str) -> None:
        click.echo(text, err=wanted.patch == "-")  # stdout is for the patch

    for state in view.adopted:
        _show_adopted(state, tell)
    for refused in view.refused:
        _show_refused(refused, tell)
    for key in view.unchanged:
        tell(f"{_title(key)}: the machine has what git says")
    if not view.adopted and not view.refused and not view.unchanged:
        output.remark(f"nothing drifted on {view.minion}, as far as it was checked")
    for effect in view.effects:
        minions = ", ".join(effect.minions[:5]) + (f" and {len(effect.minions) - 5} more" if effect.minions[5:] else "")
        tell(output.printable(f"also changes on {minions}: {', '.join(effect.states[:10])}"))
    for commit in view.commits:
        if wanted.repo is not None:
            tell(output.printable(f"branch {commit.branch} in {wanted.repo}: git push origin {commit.branch}"))
        elif wanted.patch is None:
            tell("")
            tell(output.printable(commit.patch.decode(errors="replace").rstrip("\n")))
        if wanted.yes:
            _show_pushed(commit)


def _show_adopted(state: AdoptedState, tell: _Tell) -> None:
    tell(output.styled(_title(state.key), bold=True))
    for place in state.places:
        tell(f"  {output.printable(place)}")


def _show_refused(state: RefusedState, tell: _Tell) -> None:
    tell(output.styled(f"{_title(state.key)}: not adopted", fg="red"))
    tell(f"  {output.printable(state.why)}")
    if state.hint:
        tell(f"  {output.printable(state.hint)}")
    for line in output.printable(state.diff).splitlines():
        tell(f"    {line}")


def _show_pushed(commit: AdoptCommit) -> None:
    if commit.pushed:
        click.echo(output.printable(f"pushed {commit.branch} to {commit.remote} ({commit.url}): {commit.commit[:8]}"))
        if commit.page:
            click.echo(output.printable(f"open a pull request: {commit.page}"))
        else:
            click.echo("next: open a pull request of this branch; the drift is gone when it is merged")
    elif commit.error:
        click.echo(output.styled(output.printable(f"not pushed: {commit.error}"), fg="red"))
        output.remark("--patch FILE writes it for `git am`, --repo DIR makes the branch in a clone")


def _title(key: str) -> str:
    return output.printable(state_title(key))
