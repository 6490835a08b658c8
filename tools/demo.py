"""`make demo`: from a push to drift healed, on this machine, with every claim checked.

Exits 0 only when each step really happened. Needs no root and leaves nothing behind.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rig import Failed, Rig

TREE = Path(__file__).resolve().parents[1] / "examples" / "quickstart"
MINIONS = {"web1": {"roles": ["web"]}, "web2": {"roles": ["web"]}, "db1": {"roles": ["db"]}}

console = Console(highlight=False)


def main() -> int:
    """Run the demo; the exit code."""
    directory = Path(tempfile.mkdtemp(prefix="saltern-demo-"))
    began = time.monotonic()
    try:
        with Rig(directory, MINIONS, TREE) as rig:
            for step in (start, first_push, second_push, broken_push, drift, preview, the_end):
                step(rig)
    except Failed as error:
        console.print(f"[bold red]FAILED[/] {error}", markup=True)
        return 1
    except KeyboardInterrupt:
        console.print("interrupted; stopping what was started")
        return 130
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    console.print(f"[bold green]All of it happened[/], in {time.monotonic() - began:.1f} s; everything is cleaned up.")
    return 0


def start(rig: Rig) -> None:
    """A remote, a controller, three minions."""
    title("A git remote, a controller and three minions, none of them as root")
    with step("starting"):
        rig.up()
    show(rig, "key", "list")
    show(rig, "run", "*", "test.ping")


def first_push(rig: Rig) -> None:
    """Everything is applied everywhere."""
    title("The first push applies the highstate of each minion")
    with step("git push"):
        commit = rig.push("The quickstart")
        rig.wait_applied(commit)
    show(rig, "history")
    expect("the template is rendered", "db1 (Linux)" in managed(rig, "db1", "etc/motd"))
    expect("the pillar is used", "port = 5432" in managed(rig, "db1", "etc/db/db.conf"))
    expect(
        "only web1 has the static host",
        not (rig.root("web2") / "etc/web/sites-enabled/static.example.org.conf").exists(),
    )


def second_push(rig: Rig) -> None:
    """Only what changes is touched."""
    title("The second push touches the minions and chunks that it changes, nothing else")
    before = {minion: len(rig.history(minion)) for minion in MINIONS}
    with step("git push (a pillar value of the web servers)"):
        commit = rig.push("More patience", {"pillar/web.sls": ("keepalive: 15", "keepalive: 65")})
        rig.wait_applied(commit)
    runs = {minion: applies(rig, minion, commit) for minion in MINIONS}
    expect("db1 had nothing to do", not runs["db1"] and len(rig.history("db1")) - before["db1"] <= drifts(rig, "db1"))
    for minion in ("web1", "web2"):
        (run,) = runs[minion]
        view = json.loads(rig.saltern("show", run["run_id"], "--out", "json").stdout)
        total = len(json.loads(rig.saltern("run", minion, "state.show_lowstate", "--out", "json").stdout)[minion])
        changed = [key.split("_|-")[1] for key, state in view["states"].items() if state["changes"]]
        console.print(f"  {minion}: ran {len(view['states'])} of {total} chunks; changed: {', '.join(changed)}")
        expect(f"{minion} ran a part", len(view["states"]) < total)
        expect(f"{minion} changed the file and told the service", changed == ["web-config", "web-reload"])
    expect("the file says so", "keepalive 65;" in managed(rig, "web1", "etc/web/server.conf"))


def broken_push(rig: Rig) -> None:
    """A tree that does not compile changes nothing live."""
    title("A push that does not compile for db1 leaves it on its last good state")
    with step("git push (a typing error in a template)"):
        rig.push("Oops", {"states/db/files/db.conf.j2": ("pillar['db']['port']", "pillar['db']['prot']")})
        rig.wait("the error to show", lambda: rig.status()["db1"]["health"] == "Degraded")
    db1 = rig.status()["db1"]
    console.print("  " + db1["errors"][0].replace("\n", "\n  "), markup=False)
    expect("db1 is out of sync", db1["sync"] == "OutOfSync" and "db.conf.j2" in db1["errors"][0])
    expect("the web servers go on", all(rig.status()[web]["sync"] == "Synced" for web in ("web1", "web2")))
    with step("git push (the revert)"):
        rig.git("revert", "--no-edit", "HEAD")
        rig.push_head()
        rig.wait_applied(rig.head())


def drift(rig: Rig) -> None:
    """Somebody changes a managed file by hand."""
    title("Somebody edits a managed file; the drift check finds and heals it")
    motd = rig.root("web2") / "etc/motd"
    good = motd.read_text()
    motd.write_text("I was here.\n")
    with step("echo 'I was here.' > web2:/etc/motd"):
        rig.wait("the drift to be healed", lambda: motd.read_text() == good)
        healed = rig.wait(
            "the remediation to end",
            lambda: [run for run in rig.history("web2") if run["kind"] == "remediate" and run["outcome"] == "changed"],
        )
    console.print(f"  healed by run {healed[0]['run_id']}: {healed[0]['summary']}  (cause: {healed[0]['cause']})")


def preview(rig: Rig) -> None:
    """A branch is planned, and changes nothing."""
    title("A preview of a branch changes nothing")
    rig.git("checkout", "-q", "-b", "bigger-database")
    rig.push(
        "A bigger database",
        {"pillar/db.sls": ("shared_buffers = 128MB", "shared_buffers = 512MB")},
        branch="bigger-database",
    )
    before = managed(rig, "db1", "etc/db/tuning.conf")
    with step("saltern preview --base main --head bigger-database"):
        shown = rig.wait("the branch to be fetched", lambda: previewed(rig))
    console.print(shown, markup=False)
    expect("db1 would change", "512MB" in shown and "db1" in shown)
    expect("nothing changed", managed(rig, "db1", "etc/db/tuning.conf") == before)


def previewed(rig: Rig) -> str:
    """The preview's text; empty when the branch is not there yet."""
    done = rig.saltern("preview", "--base", "main", "--head", "bigger-database", check=False)
    return done.stdout if done.returncode in (0, 2) else ""


def the_end(rig: Rig) -> None:
    """The final table."""
    title("Where everything stands")
    show(rig, "status")
    expect("all are synced", {each["sync"] for each in rig.status().values()} == {"Synced"})
    expect("all are healthy", {each["health"] for each in rig.status().values()} == {"Healthy"})


def applies(rig: Rig, minion: str, commit: str) -> list[dict[str, object]]:
    """The minion's apply runs of a revision."""
    return [run for run in rig.history(minion) if run["kind"] == "apply" and run["revision"] == commit]


def drifts(rig: Rig, minion: str) -> int:
    """How many drift checks there were."""
    return len([run for run in rig.history(minion) if run["kind"] == "drift"])


def managed(rig: Rig, minion: str, path: str) -> str:
    """A file below the minion's root."""
    return (rig.root(minion) / path).read_text()


def show(rig: Rig, *arguments: str) -> None:
    """Run a command as a person would, and print what it says."""
    console.print(f"  [bold]$ saltern {' '.join(arguments)}[/]")
    for line in rig.saltern(*arguments).stdout.splitlines():
        console.print(f"  {line}", markup=False, soft_wrap=True)


def title(text: str) -> None:
    """A heading."""
    console.print(f"\n[bold cyan]== {text}[/]")


def expect(what: str, happened: bool) -> None:
    """Say that it happened, or fail."""
    if not happened:
        raise Failed(f"not so: {what}")
    console.print(f"  [green]ok[/] {what}")


@contextmanager
def step(text: str) -> Iterator[None]:
    """Show that something is under way, and how long it took."""
    began = time.monotonic()
    if console.is_terminal:
        with console.status(f"  {text} …"):
            yield
    else:
        yield
    console.print(f"  {text}: {time.monotonic() - began:.2f} s", markup=False)


if __name__ == "__main__":
    sys.exit(main())
