"""docs/coming-from-salt.md: its commands move a Salt master and a minion, as they are written, on paths of the test.

`saltern migrate compare` is run where SALT_VENV names a virtualenv that has Salt.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import yaml
from page_shell import PageShell, commands_of, shows
from rig import free_ports

PATIENCE = 60.0
TREE = {
    "etc/salt/master": "file_roots:\n  base: [/srv/salt]\npillar_roots:\n  base: [/srv/pillar]\nworker_threads: 8\n"
    "reactor:\n- shop/released:\n  - /srv/reactor/note.sls\n",
    "etc/salt/minion": "id: web1\nmaster: 127.0.0.1\n",
    "etc/salt/minion.d/_schedule.conf": "schedule: {__mine_interval: {function: mine.update, minutes: 60}}\n",
    "etc/salt/grains": "role: web\n",
    "srv/salt/top.sls": "base:\n  'role:web':\n  - match: grain\n  - site\n",
    "srv/salt/site.sls": "page:\n  file.managed:\n  - name: /out/page\n  - makedirs: True\n"
    "  - contents: {{ pillar.text }} {{ grains.id }}\n",
    "srv/salt/_modules/shop.py": "def tag(name):\n    return __grains__['id'] + name\n",
    "srv/pillar/top.sls": "base:\n  '*': [text]\n",
    "srv/pillar/text.sls": "text: Hello\n",
    "srv/reactor/note.sls": "note:\n  local.file.append:\n  - tgt: web1\n"
    "  - args: [/out/releases, '{{ data.data.version }}']\n",
}


@pytest.fixture
def folder():
    """A machine with Salt, below a short name: the path of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="sa-") as name:
        for path, text in TREE.items():
            (Path(name) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(name) / path).write_text(here(text, Path(name)))
        grains = {"id": "web1", "os": "Debian", "os_family": "Debian", "role": "web"}
        cached = Path(name) / "var/cache/salt/master/minions/web1/data.p"
        cached.parent.mkdir(parents=True)
        cached.write_bytes(msgspec.msgpack.encode({"grains": grains}))
        (Path(name) / "out").mkdir()
        (Path(name) / "out/page").write_text("Hello web1\n")  # Salt was here
        yield Path(name)


@pytest.fixture
def shell(folder):
    opened = PageShell(folder, {"HOME": str(folder)})
    try:
        yield opened
    finally:
        opened.close()


def here(text: str, folder: Path) -> str:
    """A text with the paths of the test in place of those of a machine."""
    return re.sub(r"(?<![\w./])/(etc|srv|root|out|var)/", rf"{folder}/\1/", text)


class Reader:
    """Follows the page; what it says in words is done beside."""

    def __init__(self, shell: PageShell, folder: Path) -> None:
        self.shell, self.folder = shell, folder
        ports = free_ports(3)
        self.ports = {"4515": str(ports[0]), "4516": str(ports[1])}
        self.http = ports[2]
        self.etc = folder / "etc/saltern"

    def follow(self, command: str, shown: list[str]) -> None:
        for port, free in self.ports.items():
            command = command.replace(port, free)
        command = here(command, self.folder)
        if command.startswith("saltern migrate compare"):
            if not os.environ.get("SALT_VENV"):
                return
            command += f" --cachedir {self.folder}/var/cache/salt/master --salt {os.environ['SALT_VENV']}"
            shown = ["same: 1, different: 0, not compared: 0"]
        wanted = 2 if command.startswith("saltern migrate check") else 0
        deadline = time.monotonic() + PATIENCE
        while True:
            code, said = self.shell.run(command)
            if code == wanted and shows(said, shown):
                break
            assert shown or command.startswith("saltern key"), f"{command}: exit code {code}: {said}"
            assert time.monotonic() < deadline, f"{command}: {said}\n{self.logs()}"
            time.sleep(1.0)
        self.words(command)

    def words(self, command: str) -> None:
        if command.startswith("install") and command.endswith("/controller"):
            self.add("controller", f"root_dir: {self.folder}/root\nhttp_port: {self.http}\ninterface: 127.0.0.1\n")
            self.shell.run(f"export SALTERN_CONFIG_DIR={self.etc}")
        elif command.startswith("install") and command.endswith("/minion"):
            self.add("minion", f"root_dir: {self.folder}/root\n")
            (self.etc / "grains").write_text((self.folder / "root/saltern-minion/grains").read_text())
        elif "publish_port" in command:
            self.shell.run("saltern controller > controller.log 2>&1 &")
        elif "master_port" in command:
            self.shell.run("saltern minion > minion.log 2>&1 &")

    def add(self, name: str, options: str) -> None:
        with (self.etc / name).open("a") as file:
            file.write(options)

    def restart(self) -> None:
        """The controller, with what its configuration says now."""
        self.shell.run("kill %1; wait %1")
        self.shell.run("saltern controller > controller2.log 2>&1 &")

    def logs(self) -> str:
        return "\n".join(path.read_text() for path in self.folder.glob("*.log"))


@pytest.mark.timeout(300)
def test_the_page_moves_a_master_and_a_minion(pages, shell, folder):
    page = pages["docs/coming-from-salt.md"]
    before = {path: path.read_bytes() for path in sorted((folder / "etc/salt").rglob("*")) if path.is_file()}
    reader = Reader(shell, folder)
    for command, shown in commands_of(page.text):
        reader.follow(command, shown)
    assert not (folder / "out/releases").exists()
    (folder / "out/releases").touch()
    # Trees in git, as the page's YAML has them.
    [block] = page.blocks("yaml")
    remotes = yaml.safe_load(block.text.replace("https://git.example.org/infra/salt.git", f"{folder}/root/infra"))
    config = yaml.safe_load((reader.etc / "controller").read_text())
    config = {name: value for name, value in config.items() if name not in ("file_roots", "pillar_roots")}
    (reader.etc / "controller").write_text(yaml.safe_dump({**config, **remotes}))
    shell.run("sed -i '/^apply: manual/d' root/infra/states/saltern.yaml")
    shell.run("sed -i s/Hello/Welcome/ root/infra/pillar/text.sls")
    shell.run("git -C root/infra commit -q -a -m 'Welcome'")
    reader.restart()
    wait_for(reader, lambda: "Welcome web1" in (folder / "out/page").read_text())
    # The reactor that waited until Salt was gone acts now.
    assert shell.run("saltern run web1 event.send shop/released '{version: \"2.0\"}'")[0] == 0
    wait_for(reader, lambda: "2.0" in (folder / "out/releases").read_text())
    assert {path: path.read_bytes() for path in sorted((folder / "etc/salt").rglob("*")) if path.is_file()} == before


def wait_for(reader: Reader, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, reader.logs()
        time.sleep(0.2)
