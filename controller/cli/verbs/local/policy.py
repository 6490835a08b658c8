"""`saltern policy`: what saltern.yaml says, whether it can be used, and what of it holds for a minion."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.compile_inputs import mapping_of
from controller.cli.config_folder import require_configuration
from controller.cli.configuration import settings_of
from controller.cli.failure import FAILED, OK, Failure
from controller.schema.fleet.policies import PolicyIgnored, PolicyView, PolicyWindow

if TYPE_CHECKING:
    from controller.policy.policy import Policy

_TREE = click.Path(path_type=Path, file_okay=False)
_nodegroups = click.option(
    "--controller-config",
    "config",
    type=click.Path(path_type=Path),
    help="A controller's folder of configuration, for the nodegroups that targets name.",
)


@click.group("policy", no_args_is_help=True)
def policy_command() -> None:
    """What saltern.yaml says (docs/policy.md)."""


@policy_command.command("check")
@click.argument("tree", default=".", type=_TREE)
@_nodegroups
@options.out
def check_command(tree: Path, config: Path | None, out: str) -> int:
    """Check saltern.yaml of the folder TREE, the current one by default. The exit code is 1 when it cannot be used."""
    from controller.policy.ignored import expired

    policy, now = _policy(tree, config), time.time()
    everywhere = {"windows": policy.windows, "ignore_differences": policy.ignore_differences}
    rows = [("(all)", "*", _changes(everywhere, now))]
    rows += [(entry.name, entry.target, _changes(entry.changes, now)) for entry in policy.policies]
    if out == "text":
        output.table(("policy", "target", "says"), rows)
    else:
        entries = [{"policy": name, "target": target, "says": says} for name, target, says in rows]
        output.document({"entries": entries, "warnings": [str(one) for one in expired(policy, now)]}, out)
    for problem in expired(policy, now):
        output.remark(f"warning: {problem}")
    return OK


@policy_command.command("explain")
@click.argument("minion", shell_complete=offers.minions)
@click.option("--tree", type=_TREE, help="Ask saltern.yaml of this folder, and no controller.")
@click.option(
    "--grains", type=click.Path(path_type=Path, dir_okay=False), help="With --tree: YAML or JSON of the minion's."
)
@_nodegroups
@options.out
@options.config_dir
def explain_command(
    minion: str, tree: Path | None, grains: Path | None, config: Path | None, out: str, config_dir: Path
) -> int:
    """What of it holds for MINION, which entry says so, and whether something may be applied now."""
    if tree is None and (grains is not None or config is not None):
        raise click.UsageError("--grains and --controller-config are for --tree; a controller knows its own")
    if tree is not None:
        from controller.policy.explain import explained
        from highstate.types import Minion

        known = {"id": minion, **mapping_of(grains, "grains")}
        view = explained(_policy(tree, config), Minion(id=minion, grains=known), time.time())
    else:
        with Client(config_dir) as client:
            view = client.get("/policy", PolicyView, minion=minion)
    if out != "text":
        output.document(view, out)
        return OK
    for line in _told(view):
        click.echo(line)
    return OK


@policy_command.command("schema")
def schema_command() -> None:
    """Print the JSON schema of saltern.yaml, for editors."""
    from controller.policy.schema import json_schema

    click.echo(json.dumps(json_schema(), indent=2))


def _policy(tree: Path, config: Path | None) -> Policy:
    from controller.offline.trees import snapshot_of
    from controller.policy.reading import POLICY_FILE, PolicyInvalid, read_policy

    if not (tree / POLICY_FILE).is_file():
        raise Failure(f"there is no {tree / POLICY_FILE}", FAILED, hint="the defaults hold; docs/policy.md has them")
    nodegroups: Mapping[str, Any] = {}
    if config is not None:
        require_configuration(config)
        nodegroups = settings_of(config).language.nodegroups
    try:
        return read_policy(snapshot_of({"base": [str(tree)]}), nodegroups)
    except PolicyInvalid as error:
        raise Failure(str(error.problem), FAILED) from None


def _told(view: PolicyView) -> Iterator[str]:
    where = f", revision {view.revision}" if view.revision else ""
    yield f"{view.minion}{where}: {', '.join(view.entries) or 'no entry of policies'}"
    now = view.why if view.why in ("suspended", "in shadow") else "open" if view.open else f"closed: {view.why}"
    if not view.open and view.opens_at is not None:
        now += f"; opens {output.clock(view.opens_at)}"
    if not view.open and view.manual:
        now += "; `saltern sync` may pass"
    yield f"  now: {now}"
    width = max((len(each.key) for each in view.keys), default=0)
    for each in view.keys:
        if each.source != "default":
            yield f"  {each.key:{width}}  {_shown(each.value, each.key)}  ({each.source})"
    for window in view.windows:
        yield f"  {_window(window)}  ({window.source})"
    for rule in view.ignored:
        yield f"  {_ignored(rule)}  ({rule.source})"
    if all(each.source == "default" for each in view.keys):
        yield "  all keys have their default"
    else:
        yield "  the other keys have their default (docs/policy.md)"


def _window(window: PolicyWindow) -> str:
    state = "open" if window.open else "not open"
    manual = ", manual" if window.manual else ""
    zone = f"{window.timezone}{manual}"
    return f"{window.kind} {window.schedule!r} for {output.span(window.duration)} ({zone}): {state}"


def _ignored(rule: PolicyIgnored) -> str:
    said = ", ".join(f"{name} {value!r}" for name in ("state", "id", "field") if (value := getattr(rule, name)) != "*")
    until = f" until {rule.expires}" if rule.expires else ""
    over = ", which has expired: it holds no longer" if rule.expired else ""
    return f"ignores {said}{until}{over}" + (f": {rule.reason}" if rule.reason else "")


def _shown(value: Any, key: str = "") -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not key.endswith("factor"):
        return _length(value)
    return str(value)


def _length(seconds: float) -> str:
    """As saltern.yaml says it, in the largest unit that gives a whole number."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds and seconds % size == 0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"


def _changes(changes: Mapping[str, Any], now: float) -> str:
    said = [f"{key}: {_shown(value)}" for key, value in changes.items() if key not in ("windows", "ignore_differences")]
    said += [f"ignores {rule.text()}" for rule in changes.get("ignore_differences", ())]
    windows = _said(changes.get("windows", ()), now)
    return "; ".join([*said, *([windows] if windows else [])])


def _said(windows: Any, now: float) -> str:
    from reactors.windows import is_active, windows_text

    if not windows:
        return ""
    return ", ".join(f"{windows_text([one])}{', open now' if is_active(one, now) else ''}" for one in windows)
