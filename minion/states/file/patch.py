"""file.patch: changes of a diff, made by patch(1) to a file or to a tree.

Behaviour: doc/ref/states/all/salt.states.file, patch. The diff is tried first, backwards and forwards, without writing:
what the try says is what the act will say. Salt's `changes` have the number of a process too; a plan cannot know it.
"""

from __future__ import annotations

import posixpath
import shlex
import tempfile
from collections.abc import Sequence

from minion.arguments.sources import Sources
from minion.arguments.types import Context, TextOrFalse
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Completed, Machine, Plan, Reader
from minion.states.file.paths import behind, checked
from minion.states.file.sources import SourceCheck, of_source
from minion.states.file.sources import template as rendering

_WRITING = ("-o", "--output", "-b", "--backup", "-d", "--directory", "-i", "--input", "-e", "--ed", "-R", "--reverse")
"""Options that would have patch look or write elsewhere."""


def patch(
    machine: Reader,
    name: str,
    *,
    source: Sources = (),
    source_hash: str | None = None,
    source_hash_name: str | None = None,
    skip_verify: bool = False,
    template: str | None = None,
    context: Context | None = None,
    defaults: Context | None = None,
    options: TextOrFalse = "",
    reject_file: str | None = None,
    strip: int | None = None,
    saltenv: str = "base",
) -> Plan:
    """The diff `source` is in the file `name`, or in the files below the directory `name`."""
    path, found = behind(machine, checked(name, "patch"))
    if found is None:
        raise StateFailed(f"{name} does not exist")
    if not source:
        raise StateFailed("source: a diff is wanted, which file.patch is to apply")
    rendered = rendering(template, context, defaults, {"name": name})
    check = SourceCheck(source_hash_name=source_hash_name or "", skip=skip_verify)
    diff = of_source(machine, source, saltenv, rendered, source_hash, check).decode("utf-8", "surrogateescape")
    words = _options(options)
    if found.kind == "directory" and strip is None and not any(one.startswith(("-p", "--strip")) for one in words):
        strip = 0
    base = _command(path, found.kind == "directory", words, strip)
    if reject_file and not posixpath.isabs(reject_file):
        raise StateFailed(f"'{reject_file}' is not an absolute path")
    if _try(machine, [*base, "-R", "-f", "-r", "-"], diff).returncode == 0:
        return Plan(comment="Patch was already applied")
    forward = [*base, "-N", "-r", reject_file or "-"]
    tried = _try(machine, forward, diff)
    if tried.returncode != 0:
        return _unfit(base, diff, tried, reject_file)
    shown = {"retcode": 0, "stdout": tried.stdout.strip().replace("checking file", "patching file"), "stderr": ""}

    def act(machine: Machine) -> None:
        done = machine.run(forward, stdin=diff)
        if done.returncode != 0:
            raise StateFailed(f"Failed to apply patch\n{done.stdout.strip()}\n{done.stderr.strip()}".rstrip())

    first, *rest = shown.items()
    return Plan(
        changes=(
            Change(key=first[0], reported=first[1], act=act),
            *(Change(key=key, reported=one, act=lambda machine: None) for key, one in rest),
        ),
        pending="The patch would be applied",
        done="Patch successfully applied",
    )


def _unfit(base: Sequence[str], diff: str, tried: Completed, reject_file: str | None) -> Plan:
    """A diff that does not fit: what fails is written to `reject_file`, and nothing else. StateFailed without one."""
    if not reject_file:
        raise StateFailed(
            "Patch would not apply cleanly, no changes made. Results of dry-run are below. Run state again using the "
            f"reject_file option to save rejects to a persistent file.\n\n{_said(tried)}"
        )
    headline = "Patch would not apply cleanly, no changes made. Results of dry-run are below."

    def act(machine: Machine) -> None:
        with tempfile.NamedTemporaryFile() as output:
            done = machine.run([*base, "-N", "-r", reject_file, "-o", output.name], stdin=diff)
        raise StateFailed(f"{headline}\n\n{_said(done)}")

    return Plan(changes=(Change(key="", act=act),), pending=f"{headline}\n\n{_said(tried)}", test_result=False)


def _said(done: Completed) -> str:
    return "\n".join(text.strip() for text in (done.stdout, done.stderr) if text.strip())


def _command(path: str, is_tree: bool, options: Sequence[str], strip: int | None) -> list[str]:
    where = ["-d", path] if is_tree else []
    level = [] if strip is None else [f"-p{strip}"]
    return ["patch", "--no-backup-if-mismatch", *options, *where, *level, *([] if is_tree else [path])]


def _try(machine: Reader, command: Sequence[str], diff: str) -> Completed:
    tried = machine.query([*command, "--dry-run"], stdin=diff)
    if tried.returncode == 127:
        raise StateFailed("There is no patch program: install the package patch")
    return tried


def _options(text: str) -> list[str]:
    words = shlex.split(text)
    for word in words:
        if any(word == one or (one.startswith("--") and word.startswith(f"{one}=")) for one in _WRITING):
            raise StateFailed(f"options: {word} is not allowed: file.patch decides where patch reads and writes")
    return words
