"""Examples that are followed: what they need is started, and then the commands of their README are typed into a shell.

A folder of examples/ with an `example.yaml` is run so:

    minions: {web1: {roles: [web]}}        # id -> grains
    addresses: {https://…/states.git: .}   # addresses in controller.conf -> folders that are pushed to a remote each
    beside: [events]                       # files that its commands name, which are copied into the clone
    controllers: 2                         # a second one, which the minion has in its list, too
    machines: [edge1]                      # ids of a roster: machines without an agent, behind a sshd of this user

Its `states` and `pillar`, and a `saltern.yaml` beside them, are what is pushed. Needs no root and leaves nothing.
"""

from __future__ import annotations

import contextlib
import getpass
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from controller_pair import Pair
from page_shell import PageShell, commands_of
from rig import Rig
from ssh_server import SshServer

from controller.ssh.own_key import own_key

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Echo = Callable[[str], object]


class Described(NamedTuple):
    """What an `example.yaml` says."""

    minions: Mapping[str, Mapping[str, Any]]
    addresses: Mapping[str, str] = {}
    beside: Sequence[str] = ()
    controllers: int = 1
    machines: Sequence[str] = ()


def runnable() -> list[str]:
    """The examples that are run so."""
    return sorted(path.parent.name for path in EXAMPLES.glob("*/example.yaml"))


def run_example(name: str, echo: Echo) -> int:
    """Run an example, and tell each command with its output; how many commands there were.

    Raises:
        Failed: it does not come up.
        NotAsWritten: a command did something else than the README says.
    """
    example = EXAMPLES / name
    described = Described(**yaml.safe_load((example / "example.yaml").read_text()))
    folder = Path(tempfile.mkdtemp(prefix="sa-"))
    try:
        tree = _tree(example, folder / "tree", described.beside)
        if described.controllers == 2:
            return _with_two(example, described, folder, tree, echo)
        with Rig(folder / "1", described.minions, tree, forked=True) as rig:
            rig.directory.mkdir()
            if "controller.conf" not in described.beside:
                rig.configure(**_controller(example, rig, described.addresses))
            with _machines(described.machines, rig) as variables:
                rig.up()
                return _follow(example / "README.md", rig, variables, echo)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _with_two(example: Path, described: Described, folder: Path, tree: Path, echo: Echo) -> int:
    """Two controllers of one remote. `$first` and `$second` are their configurations, `$first_pid` a process."""
    pair = Pair(folder, tree=tree, minions=described.minions)
    try:
        pair.up()
        pair.first.accept_all()
        variables = {
            "first": str(pair.first.config),
            "second": str(pair.second.config),
            "first_pid": str(pair.first.pid("controller")),
        }
        return _follow(example / "README.md", pair.first, variables, echo)
    finally:
        pair.first.stop_all()
        pair.second.stop_all()


@contextlib.contextmanager
def _machines(names: Sequence[str], rig: Rig) -> Iterator[dict[str, str]]:
    """A sshd, and the roster; a variable with each id has the folder that stands for the machine's file system."""
    if not names:
        yield {}
        return
    roots = {name: rig.directory / name / "root" for name in names}
    with SshServer(rig.directory / "sshd") as sshd:
        entry = {"host": "127.0.0.1", "port": sshd.port, "user": getpass.getuser()}
        roster = {
            name: {**entry, "thin_dir": str(root.parent / "thin"), "minion_opts": {"grains": {"root": str(root)}}}
            for name, root in roots.items()
        }
        rig.config.mkdir(parents=True, exist_ok=True)
        (rig.config / "roster").write_text(yaml.safe_dump(roster))
        key = own_key(rig.directory / "c/etc/saltern/pki/controller/ssh")
        sshd.authorized_keys.write_text(Path(f"{key}.pub").read_text())
        yield {name: str(root) for name, root in roots.items()}


def _tree(example: Path, tree: Path, beside: Sequence[str]) -> Path:
    """What is pushed."""
    tree.mkdir(parents=True)
    for part in ("states", "pillar", *beside):
        if (example / part).is_dir():
            shutil.copytree(example / part, tree / part)
        elif (example / part).is_file():
            (tree / part).write_text(_here(example, part))
    if (example / "saltern.yaml").exists():
        shutil.copy(example / "saltern.yaml", tree / "states")
    return tree


def _here(example: Path, name: str) -> str:
    """A file whose reactors are those of the example."""
    return (example / name).read_text().replace("/srv/reactor", str(example / "reactor"))


def _controller(example: Path, rig: Rig, addresses: Mapping[str, str]) -> dict[str, Any]:
    """The options of `controller.conf`, with remotes and folders that are there."""
    if not (example / "controller.conf").exists():
        return {}
    text = _here(example, "controller.conf")
    for address, folder in addresses.items():
        remote = rig.remote if folder == "." else _remote(example / folder, rig)
        text = text.replace(address, str(remote))
    options: dict[str, Any] = yaml.safe_load(text)
    return options


def _remote(folder: Path, rig: Rig) -> Path:
    """A bare repository with the content of a folder."""
    bare, work = rig.directory / f"{folder.name}.git", rig.directory / folder.name
    shutil.copytree(folder, work)
    rig.git("init", "-q", "--bare", "--initial-branch=main", str(bare), cwd=rig.directory)
    rig.git("init", "-q", "--initial-branch=main", cwd=work)
    rig.git("add", "-A", cwd=work)
    rig.git("commit", "-q", "-m", folder.name, cwd=work)
    rig.git("push", "-q", str(bare), "main", cwd=work)
    return bare


def _follow(readme: Path, rig: Rig, variables: Mapping[str, str], echo: Echo) -> int:
    """Type the commands of the README in the clone; a variable with the id of each minion has its folder."""
    roots = {minion.replace("-", "_"): str(rig.root(minion)) for minion in rig.minions}
    shell = PageShell(rig.work, {"SALTERN_CONFIG_DIR": str(rig.config), "NO_COLOR": "1", **roots, **variables})
    ran = 0
    try:
        for command in commands_of(readme.read_text(encoding="utf-8")):
            echo(f"$ {command.text.rstrip()}")
            said = shell.follow(command, lambda: rig.log("controller"))
            echo(said.rstrip() + "\n" if said.strip() else "")
            ran += 1
    finally:
        shell.close()
    return ran
