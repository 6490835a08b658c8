"""Attacks by git servers that the controller follows, and by branches that need something of another server."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress

import httpx
from git_servers import serving
from hostile_git import Behaviour, HostileHandler, advertises, hangs, hostile, redirects, sends_packs

from tools.attack.attacks import Attack, Running
from tools.attack.far_server import PublicBackend
from tools.attack.scene import HOST, Scene, git

METADATA = "http://169.254.169.254"
"""Where clouds tell a machine its credentials."""
SUBMODULES = 20
DEEPEST = 128
FILES = 200_000
LFS_FILES = 20
_REFS, _PACK = "/info/refs?service=git-upload-pack", "/git-upload-pack"


def hanging_transfer(scene: Scene, running: Running) -> None:
    """A pack that stops in its middle; the connection stays open."""

    def stop(request: HostileHandler) -> None:
        request.send(_pack_head(1000) + os.urandom(4))
        hangs(request)

    _serve(scene, running, sends_packs(stop), _PACK)


def trickling_transfer(scene: Scene, running: Running) -> None:
    """A pack that comes at a byte a second."""

    def trickle(request: HostileHandler) -> None:
        request.send(_pack_head(1000))
        while not request.server.go_on.wait(1):
            request.send(b"\x90")

    _serve(scene, running, sends_packs(trickle), _PACK)


def two_million_refs(scene: Scene, running: Running) -> None:
    """Two million branches."""
    _serve(scene, running, advertises(2_000_000))


def cut_off_pack(scene: Scene, running: Running) -> None:
    """A pack that ends before its first object."""

    def cut(request: HostileHandler) -> None:
        request.send(_pack_head(1000))

    _serve(scene, running, sends_packs(cut), _PACK)


def garbage_pack(scene: Scene, running: Running) -> None:
    """64 MiB of random bytes after the head of a pack."""

    def garbage(request: HostileHandler) -> None:
        request.send(_pack_head(1_000_000))
        for _ in range(64):
            request.send(os.urandom(1024 * 1024))
        request.send(b"")

    _serve(scene, running, sends_packs(garbage), _PACK)


def redirect_to_metadata(scene: Scene, running: Running) -> None:
    """A redirect to the metadata service of clouds."""
    _serve(scene, running, redirects(METADATA))


def redirect_to_another_host(scene: Scene, running: Running) -> None:
    """A redirect to another host, which takes the request and says nothing."""
    with hostile(hangs) as other:
        _serve(scene, running, redirects(f"http://localhost:{other.server_address[1]}"))
        if other.seen:
            raise AssertionError(f"the controller asked the other host for {other.seen[0]}")


def slow_submodules(scene: Scene, running: Running) -> None:
    """A branch of the honest remote with 20 submodules on a server that never answers."""
    with hostile(hangs) as server:
        address = f"http://{HOST}:{server.server_address[1]}"
        sections = (
            f'[submodule "s{number}"]\n\tpath = s{number}\n\turl = {address}/s{number}.git\n'
            for number in range(SUBMODULES)
        )
        scene.push_branch("submodules", {".gitmodules": "".join(sections)})
        for turn in _turns(running):
            commit = f"{turn + 1:040x}"
            scene.push_index("submodules", "".join(f"160000 {commit}\ts{number}\n" for number in range(SUBMODULES)))
        if not server.seen:
            raise AssertionError("no submodule was asked for")


def nested_folders(scene: Scene, running: Running) -> None:
    """A branch with 128 folders in each other, all changed by each push."""
    for turn in _turns(running):
        scene.push_index("nested", f"100644 {_blob(scene, 'nested', turn)}\t{'d/' * DEEPEST}file\n")


def many_files(scene: Scene, running: Running) -> None:
    """A branch with 200,000 files in one folder, all changed by each push."""
    for turn in _turns(running):
        blob = _blob(scene, "files", turn)
        scene.push_index("files", "".join(f"100644 {blob}\tmany/file{number}\n" for number in range(FILES)))


class TricklingLfs(PublicBackend):
    """An honest git server whose Git LFS answers at a byte a second."""

    def do_POST(self) -> None:  # noqa: N802 - http.server's name
        """The batch API of Git LFS trickles."""
        if "/info/lfs/" not in self.path:
            super().do_POST()
            return
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(200)
        self.send_header("Content-Type", "application/vnd.git-lfs+json")
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        with suppress(OSError):
            while True:
                self.wfile.write(b" ")
                time.sleep(1)


def trickling_lfs(scene: Scene, running: Running) -> None:
    """Branches with files of Git LFS, whose server sends a byte a second."""
    root = scene.folder.parent / "far"
    work = root / "work"
    with serving(root, handler=TricklingLfs, port=scene.far_port):
        for turn in _turns(running):
            (work / ".gitattributes").write_text("*.bin filter=lfs\n")
            for number in range(LFS_FILES):
                oid = f"{turn * LFS_FILES + number + 1:064x}"
                pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 1000\n"
                (work / f"{number}.bin").write_text(pointer)
            git("add", "-A", cwd=work)
            git("commit", "-q", "-m", f"turn {turn}", cwd=work)
            branch = f"HEAD:refs/heads/lfs{turn % 5}"
            git("push", "-q", "--force", "--no-verify", str(root / "far0.git"), branch, cwd=work)
            _ask_for_a_fetch(scene)


def many_hanging_remotes(scene: Scene, running: Running) -> None:
    """30 remotes that take a request and say nothing."""
    _serve(scene, running, hangs)


def _serve(scene: Scene, running: Running, behaviour: Behaviour, asked: str = _REFS) -> None:
    """Be the server of the far remotes; have them fetched again and again, as their forge's hook may.

    The attack fails when nothing that ends in `asked` was asked for.
    """
    with hostile(behaviour, scene.far_port) as server:
        for _ in _turns(running):
            _ask_for_a_fetch(scene)
        if not any(path.endswith(asked) for path in server.seen):
            raise AssertionError(f"the controller did not ask for {asked}")


def _turns(running: Running) -> Iterator[int]:
    """Counts from 0, a second apart, as long as the attack is to go on."""
    turn = 0
    while running():
        yield turn
        turn += 1
        time.sleep(1)


def _ask_for_a_fetch(scene: Scene) -> None:
    with suppress(httpx.HTTPError):
        httpx.post(f"http://{HOST}:{scene.http_port}/hook", json={}, timeout=5, trust_env=False, verify=False)  # noqa: S501  (no https)


def _pack_head(objects: int) -> bytes:
    return b"PACK" + struct.pack(">II", 2, objects)


def _blob(scene: Scene, branch: str, turn: int) -> str:
    return git("hash-object", "-w", "--stdin", cwd=scene.clone(branch), given=f"{turn}\n")


ATTACKS: Mapping[str, Attack] = {
    "hanging-transfer": Attack("a pack that stops in its middle", hanging_transfer, far_remotes=1),
    "trickling-transfer": Attack("a pack at a byte a second", trickling_transfer, far_remotes=1),
    "two-million-refs": Attack("two million branches", two_million_refs, far_remotes=1),
    "cut-off-pack": Attack("packs that are cut off", cut_off_pack, far_remotes=1),
    "garbage-pack": Attack("packs of 64 MiB of garbage", garbage_pack, far_remotes=1),
    "redirect-to-metadata": Attack("redirects to 169.254.169.254", redirect_to_metadata, far_remotes=1),
    "redirect-elsewhere": Attack("redirects to another host", redirect_to_another_host, far_remotes=1),
    "slow-submodules": Attack(
        "a branch with 20 submodules on a server that never answers",
        slow_submodules,
        options={"gitfs_submodule_hosts": [HOST], "git_pillar_submodule_hosts": [HOST]},
    ),
    "nested-folders": Attack("a branch with 128 folders in each other", nested_folders),
    "many-files": Attack("a branch with 200,000 files", many_files),
    "trickling-lfs": Attack("branches whose Git LFS comes at a byte a second", trickling_lfs, far_remotes=1),
    "many-hanging-remotes": Attack("30 remotes that never answer", many_hanging_remotes, far_remotes=30),
}
