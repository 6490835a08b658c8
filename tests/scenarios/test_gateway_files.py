"""Files of stock minions and of our own: many and large ones, links, empty folders, saltenvs, names of all scripts."""

import hashlib
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from both_kinds import BothKinds
from effort import FULL
from rig import Rig
from stock_minions import salt_venvs

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(not salt_venvs(), reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
]
TREE = Path(__file__).parent / "tree"
OWN, STOCK = "own1", "stock1"
BOTH = (OWN, STOCK)
MANY = 400
LARGE = (200 if FULL else 40) * 1024 * 1024
SLS = """
{{ grains.root }}/many:
  file.recurse:
    - source: salt://many

{{ grains.root }}/large:
  file.managed:
    - source: salt://large.bin
"""
UNICODE = """
größe 測試:
  file.managed:
    - name: "{{ grains.root }}/größe/測試 🦊.txt"
    - makedirs: True
    - source: "salt://ünïcode/測試 🦊.txt"
    - template: jinja

werte:
  file.managed:
    - name: "{{ grains.root }}/werte"
    - contents: "{{ pillar['schlüssel']['naïve'] }} {{ grains['öl'] }}"

befehl:
  cmd.run:
    - name: "printf '%s' '日本語 é' > {{ grains.root }}/befehl"
    - creates: "{{ grains.root }}/befehl"
    - env:
      - LC_ALL: C.UTF-8
"""
LINKS = """
{{ grains.root }}/links:
  file.recurse:
    - source: salt://linked
    - keep_symlinks: True

{{ grains.root }}/followed:
  file.recurse:
    - source: salt://linked
    - include_empty: True

{{ grains.root }}/empty:
  file.directory: []
"""
OF_DEV = """
{{ grains.root }}/dev:
  file.managed:
    - source: salt://which.txt
    - saltenv: dev

{{ grains.root }}/base:
  file.managed:
    - source: salt://which.txt
"""


@pytest.fixture(scope="module")
def site():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    tree = folder / "tree"
    shutil.copytree(TREE, tree)
    states = tree / "states"
    (states / "many/deep").mkdir(parents=True)
    for number in range(MANY):
        (states / f"many/{'deep/' if number % 2 else ''}{number:04}.txt").write_text(f"content of {number}\n")
    (states / "large.bin").write_bytes(large())
    (states / "ünïcode").mkdir()
    (states / "ünïcode/測試 🦊.txt").write_text("{{ grains['öl'] }} und {{ pillar['schlüssel']['naïve'] }}\n")
    (states / "linked").mkdir()
    (states / "linked/real.txt").write_text("real\n")
    (states / "which.txt").write_text("of base\n")
    for name, text in {"many": SLS, "unicode": UNICODE, "links": LINKS, "envs": OF_DEV}.items():
        (states / f"{name}.sls").write_text(text)
    (tree / "pillar/numbers.sls").write_text("number: 0\nport: 5432\nschlüssel: {naïve: 'wert é 🦊'}\n")
    remotes = [
        {str(folder / "r/remote.git"): [{"name": "states"}, {"root": "states"}, {"base": "main"}]},
        {str(folder / "r/dev.git"): [{"name": "dev"}, {"saltenv": [{"dev": [{"ref": "main"}]}]}]},
    ]
    options = {"gitfs_remotes": remotes, "file_recv": True, "file_recv_max_size": 4}
    rig = Rig(folder / "r", {OWN: {"öl": "grün"}}, tree, options, forked=True)
    try:
        _make_dev(rig, folder)
        rig.up()
        (rig.work / "states/linked/link.txt").symlink_to("real.txt")  # a copy of the tree would have followed it
        both = BothKinds(rig, {STOCK: {"öl": "grün"}})
        try:
            both.wait_applied(rig.push("files"))
            yield both
        finally:
            both.stop()
    finally:
        rig.stop_all()
        shutil.rmtree(folder, ignore_errors=True)


def _make_dev(rig, folder):
    """The remote of the saltenv dev."""
    work = folder / "dev"
    work.mkdir()
    (folder / "r").mkdir()
    (work / "which.txt").write_text("of dev\n")
    (work / "only.sls").write_text("{{ grains.root }}/only:\n  file.managed:\n    - source: salt://which.txt\n")
    for words in (
        ("init", "-q", "--initial-branch=main"),
        ("add", "-A"),
        ("commit", "-q", "-m", "dev"),
        ("clone", "-q", "--bare", str(work), str(folder / "r/dev.git")),
    ):
        rig.git(*words, cwd=work)


def large():
    """Bytes that no compression makes small, the same each time."""
    seed = hashlib.sha256(b"large").digest()
    return (hashlib.shake_256(seed).digest(1024 * 1024) * (LARGE // (1024 * 1024)))[:LARGE]


def apply(site, *sls):
    done = site.rig.saltern("run", "*", "-t", "300", "state.apply", *sls, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_many_files_and_a_large_one(site):
    gateway = site.stock.pid("gateway")
    apply(site, "many")
    for minion in BOTH:
        root = site.root(minion)
        found = [path for path in (root / "many").rglob("*") if path.is_file()]
        assert len(found) == MANY
        assert (root / "many/deep/0001.txt").read_text() == "content of 1\n"
        assert hashlib.sha256((root / "large").read_bytes()).digest() == hashlib.sha256(large()).digest()
    resident = next(
        int(line.split()[1]) // 1024
        for line in Path(f"/proc/{gateway}/status").read_text().splitlines()
        if line.startswith("VmHWM")
    )
    assert resident < 200, "MiB: a large file is passed on in pieces"
    assert "0 changed" in (again := apply(site, "many")) or "changed=" not in again


def test_names_contents_pillar_and_grains_of_all_scripts(site):
    apply(site, "unicode")
    for minion in BOTH:
        root = site.root(minion)
        assert (root / "größe/測試 🦊.txt").read_text() == "grün und wert é 🦊\n"
        assert (root / "werte").read_text() == "wert é 🦊 grün\n"
        assert (root / "befehl").read_text() == "日本語 é"
    assert site.json("run", "*", "test.echo", "ü 🦊 測試") == dict.fromkeys(BOTH, "ü 🦊 測試")
    asked = ("run", "-G", "öl:grün", "pillar.get", "schlüssel:naïve")
    # Salt 3008 and later put stars in place of the values of pillar.get, unless they are asked for.
    assert site.json(*asked) in (dict.fromkeys(BOTH, "wert é 🦊"), {OWN: "wert é 🦊", STOCK: "*" * 10})
    if "*" in site.json(*asked)[STOCK]:
        assert site.json("run", STOCK, *asked[3:], "unmask=True") == {STOCK: "wert é 🦊"}


def test_links_and_empty_folders(site):
    apply(site, "links")
    for minion in BOTH:
        root = site.root(minion)
        assert (root / "links/link.txt").is_symlink()
        assert (root / "links/link.txt").readlink() == Path("real.txt")
        assert not (root / "followed/link.txt").is_symlink()
        assert (root / "followed/link.txt").read_text() == "real\n"
        assert (root / "empty").is_dir()


def test_saltenvs_other_than_base(site):
    apply(site, "envs")
    apply(site, "only", "saltenv=dev")
    for minion in BOTH:
        root = site.root(minion)
        assert ((root / "base").read_text(), (root / "dev").read_text()) == ("of base\n", "of dev\n")
        assert (root / "only").read_text() == "of dev\n"
    assert site.json("run", "*", "cp.get_file_str", "salt://which.txt", "saltenv=dev") == dict.fromkeys(
        BOTH, "of dev\n"
    )
    assert site.json("run", "*", "cp.envs") == {minion: ["base", "dev"] for minion in BOTH}


def test_files_that_minions_send_are_kept_below_a_folder_of_each(site):
    kept = site.rig.directory / "c/var/cache/saltern/controller/minions"
    folder = site.rig.directory / "sent"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/größe.conf").write_bytes(bytes(range(256)) * 5_000)
    (folder / "deep/b.txt").write_text("b")
    assert site.json("run", "*", "cp.push", str(folder / "deep/b.txt")) == dict.fromkeys(BOTH, True)
    sent = ("cp.push_dir", str(folder), "glob=*.conf", "upload_path=/some/where")
    assert site.json("run", "*", *sent) == dict.fromkeys(BOTH, True)
    for minion in BOTH:
        below = kept / minion / "files"
        assert (below / str(folder / "deep/b.txt").lstrip("/")).read_text() == "b"
        assert (below / "some/where/deep/größe.conf").read_bytes() == bytes(range(256)) * 5_000
        assert len([path for path in below.rglob("*") if path.is_file()]) == 2
    (folder / "large").write_bytes(b"x" * (4 * 1024 * 1024 + 1))
    told = site.json("run", "*", "cp.push", str(folder / "large"), code=1)
    assert "file_recv_max_size" in told[OWN]
    assert told[STOCK] is False


def test_a_minion_that_is_killed_in_a_push_has_it_after_it_came_back(site):
    (site.root(STOCK) / "go").unlink(missing_ok=True)
    slow = """
slow:
  cmd.run:
    - name: while [ ! -e {{ grains.root }}/go ]; do sleep 0.2; done
    - creates: {{ grains.root }}/go

after:
  file.managed:
    - name: {{ grains.root }}/after
    - contents: done
    - require:
      - cmd: slow
"""
    (site.root(OWN) / "go").touch()
    top = "base:\n  '*':\n    - app\n    - slow\n"
    head = site.write({"states/slow.sls": slow, "states/top.sls": top}, "slow")
    site.wait("it to begin", lambda: any("go ]; do sleep" in line for line in _commands(site)))
    site.stock.stop(STOCK, signal.SIGKILL)
    (site.root(STOCK) / "go").touch()
    site.start(STOCK)
    site.wait_applied(head)
    assert (site.root(STOCK) / "after").read_text() == "done\n"


def _commands(site):
    """Command lines of what runs below the stock minion's root."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(site.root(STOCK)) in words:
            found.append(words)
    return found
