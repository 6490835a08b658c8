"""From a real Salt master to git and back, with unmodified salt-minions that have both masters: examples/shadow.

The master has the address 127.0.0.1 and the gateway 127.0.0.2, with the same ports, as they have in a network.
"""

import json
import shutil
import tempfile
from pathlib import Path

import pytest
import yaml
from rig import Rig, free_ports
from salt_master import SaltMaster
from stock_minions import StockMinions, salt_venvs

EXAMPLE = Path(__file__).parents[2] / "examples/shadow"
ADDRESSES = {"192.0.2.5": "127.0.0.1", "192.0.2.10": "127.0.0.2"}
VENVS = salt_venvs()
MINIONS = {f"salt{version.partition('.')[0]}": venv for version, venv in VENVS.items()}
POLICY = (EXAMPLE / "states/saltern.yaml").read_text()
PATIENCE = 120.0
pytestmark = [
    pytest.mark.alone,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not VENVS, reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
]


def masters(name):
    """`master` of a file of the example, with the addresses of this machine."""
    found = yaml.safe_load((EXAMPLE / name).read_text())["master"]
    return [ADDRESSES[each] for each in found] if isinstance(found, list) else ADDRESSES[found]


class Beside:
    """A Salt master and a gateway with the same tree, and minions that have both."""

    def __init__(self, folder):
        self.folder, self.out = folder, folder / "out"
        tree = folder / "tree"
        shutil.copytree(EXAMPLE, tree)
        motd = tree / "pillar/motd.sls"
        tick = {"function": "cmd.run", "args": [f"echo x >> {self.out}/ticks"], "seconds": 2}
        schedule = json.dumps({"schedule": {"tick": tick}})[1:-1] + "\n"
        motd.write_text(motd.read_text().replace("/etc/motd", f"{self.out}/motd") + schedule)
        (tree / "states/saltern.yaml").write_text("shadow: true\n")
        self.salt_tree = folder / "salt"
        shutil.copytree(tree, self.salt_tree)
        self.rig = Rig(folder / "rig", {}, tree, forked=True)
        self.rig.up()
        self.rig.push("first")
        ret_port, publish_port = free_ports(2)
        self.venv = next(iter(VENVS.values()))
        self.master = SaltMaster(self.venv, folder / "master", self.salt_tree, (publish_port, ret_port))
        self.stock = StockMinions(
            self.rig,
            folder / "stock",
            {"interface": "127.0.0.2", "ret_port": ret_port, "publish_port": publish_port},
        )

    def __enter__(self):
        self.master.__enter__()
        (self.stock.folder / "pki").mkdir(mode=0o700)
        shutil.copy(self.master.key, self.stock.folder / "pki/master.pem")
        self.stock.start_gateway()
        return self

    def __exit__(self, *error):
        self.stock.__exit__(None, None, None)
        self.master.__exit__(None, None, None)
        self.rig.stop_all()

    def start(self, minion, file, **more):
        self.stock.start_minion(MINIONS[minion], minion, {"master": masters(file), **more})

    def again(self, minion, file, **more):
        """One line of its configuration is another, and it is started again."""
        self.stock.stop(minion)
        self.start(minion, file, **more)

    def said(self, minion):
        return self.rig.status().get(minion, {})

    def looked(self, *minions):
        """Whether these have said that a run would change one state."""
        return all("would change 1 state" in self.said(minion).get("message", "") for minion in minions)

    def compare(self, *words):
        """`saltern migrate shadow`: its exit code, and minion -> what came of it."""
        given = ["--salt", str(self.venv), "--salt-config", str(self.master.config), "--timeout", "20"]
        done = self.rig.saltern("migrate", "shadow", *given, "--out", "json", *words, check=False)
        assert done.stdout, done.stderr
        return done.returncode, {each["minion"]: each for each in json.loads(done.stdout)["minions"]}

    def motd(self, minion):
        path = self.out / f"motd-{minion}"
        return path.read_text() if path.exists() else ""


@pytest.fixture(scope="module")
def beside():
    with tempfile.TemporaryDirectory(prefix="saltern-") as folder, Beside(Path(folder) / "b") as found:
        for minion in MINIONS:
            found.start(minion, "beside.conf")
        found.stock.wait("keys", lambda: set(found.rig.keys("pending")) >= set(MINIONS), PATIENCE)
        for minion in MINIONS:
            found.rig.saltern("key", "accept", minion)
        for minion in MINIONS:
            found.stock.wait(
                "a look", lambda minion=minion: "would change 1 state" in found.said(minion).get("message", "")
            )
        yield found


def test_both_see_the_minions_and_the_gateway_only_looks(beside):
    ours = beside.rig.saltern("run", "*", "test.ping").stdout
    assert all(f"{minion}:\n    True" in ours for minion in MINIONS)
    assert beside.master.salt("*", "test.ping") == dict.fromkeys(MINIONS, True)
    assert {(each["sync"], each["health"]) for each in beside.rig.status().values()} == {("Shadow", "Drifted")}
    for words in (["cmd.run", f"touch {beside.out}/no"], ["state.apply"], ["state.apply", "motd"]):
        done = beside.rig.saltern("run", "*", *words, check=False)
        assert done.returncode != 0
        assert done.stdout.count("in shadow by saltern.yaml") == len(MINIONS)
    for words in (["state.apply"], ["state.apply", "motd"]):
        assert "motd-" in beside.rig.saltern("run", "*", *words, "test=True", check=False).stdout
    beside.rig.saltern("sync", "*", check=False)
    assert not any(beside.motd(minion) for minion in MINIONS)
    assert not (beside.out / "no").exists()


def test_nothing_that_may_change_something_was_published(beside):
    """The gateway's own wall: what minions say that they ran for it."""
    for minion in MINIONS:
        ran = [line for line in beside.stock.log(minion).splitlines() if "User saltern Executing command" in line]
        assert ran
        functions = {line.split("Executing command ")[1].split()[0] for line in ran}
        assert functions <= {"test.ping", "state.sls", "saltutil.find_job", "pillar.items"}, functions


def test_the_mine_of_a_minion_is_at_both(beside):
    """A minion tells each of its masters what it has for others; `mine.get` asks the one that asked for the job."""
    rig, master = beside.rig, beside.master

    def of_gateway():
        return json.loads(rig.saltern("run", "*", "mine.get", "*", "test.arg", "--static", "--out", "json").stdout)

    sent = {minion: {"args": [minion], "kwargs": {}} for minion in MINIONS}
    for minion in MINIONS:
        assert master.salt(minion, "mine.send", "test.arg", minion) == {minion: True}
    beside.stock.wait("the gateway to have it", lambda: of_gateway() == dict.fromkeys(MINIONS, sent), PATIENCE)
    beside.stock.wait(
        "and the master", lambda: master.salt("*", "mine.get", "*", "test.arg") == dict.fromkeys(MINIONS, sent)
    )
    for minion, venv in MINIONS.items():
        assert json.loads(beside.stock.call(venv, minion, "mine.get", "*", "test.arg"))["local"] == sent

    gone, *left = MINIONS
    assert master.salt(gone, "mine.delete", "test.arg") == {gone: True}
    kept = {minion: sent[minion] for minion in left}
    beside.stock.wait("the gateway to have it no more", lambda: of_gateway() == dict.fromkeys(MINIONS, kept), PATIENCE)
    assert master.salt("*", "mine.get", "*", "test.arg") == dict.fromkeys(MINIONS, kept)


def test_the_salt_master_goes_on_as_before(beside):
    """One scheduler and one `startup_states` are in a minion: those of the Salt master, also after a start."""
    for minion in MINIONS:
        beside.again(minion, "beside.conf", startup_states="highstate")
    for minion in MINIONS:
        beside.stock.wait("the highstate at the start", lambda minion=minion: beside.motd(minion), PATIENCE)
    beside.stock.wait("its schedule", lambda: (beside.out / "ticks").exists(), PATIENCE)
    for minion in MINIONS:
        beside.stock.wait("both again", lambda minion=minion: beside.said(minion).get("connected"), PATIENCE)
    done = beside.rig.saltern("run", "*", "state.apply", "test=True", check=False)
    assert "is in the correct state" in done.stdout


def test_what_both_compile_is_compared(beside):
    code, found = beside.compare()
    assert {minion: each["verdict"] for minion, each in found.items()} == dict.fromkeys(MINIONS, "same"), found
    assert code == 0

    said = {words: beside.master.salt("*", *words.split()) for words in ("state.show_lowstate", "pillar.items")}
    unmasked = beside.master.salt("*", "pillar.items", "unmask=True")  # 3007 knows no such argument
    older = said["pillar.items"]
    pillars = {each: found if isinstance(found, dict) else older[each] for each, found in unmasked.items()}
    (beside.folder / "low").write_text(json.dumps(said["state.show_lowstate"]))
    (beside.folder / "pillar").write_text(json.dumps(pillars))
    low, pillar = (str(beside.folder / name) for name in ("low", "pillar"))
    code, found = beside.compare("--low-file", low, "--pillar-file", pillar)
    assert (code, {each["verdict"] for each in found.values()}) == (0, {"same"}), found

    motd = beside.salt_tree / "pillar/motd.sls"
    before = motd.read_text()
    try:
        motd.write_text(
            before.replace("is managed", "is ours").replace("correct-horse-battery", "another-horse-battery")
        )
        code, found = beside.compare()
    finally:
        motd.write_text(before)
    assert code == 2
    for each in found.values():
        assert each["verdict"] == "different"
        [difference] = each["differences"]
        assert difference["arguments"] == {"contents": ['"This machine is ours."', '"This machine is managed."']}
        assert [(one["kind"], one["key"]) for one in each["pillar"]] == [
            ("value", "motd:text"),
            ("value", "motd:token"),
        ]
    assert "horse" not in json.dumps(found)


def test_one_is_moved_and_comes_back_by_the_same_line(beside):
    minion, others = min(MINIONS), sorted(MINIONS)[1:]
    beside.again(minion, "moved.conf")
    beside.stock.wait("it is there", lambda: beside.said(minion).get("connected"), PATIENCE)
    text = {"pillar/motd.sls": ("is managed", "is driven from git")}
    beside.rig.push("a change", text)
    everybody = list(MINIONS)
    beside.stock.wait(
        "a look", lambda: all("change 1 state" in beside.said(each)["message"] for each in everybody), PATIENCE
    )
    assert "driven" not in beside.motd(minion)

    moved = POLICY.replace("L@web1", f"L@{minion}")
    head = beside.rig.push("one is moved", {"states/saltern.yaml": ("shadow: true\n", moved)})
    beside.rig.wait_applied(head, [minion], patience=PATIENCE)
    assert beside.motd(minion) == "This machine is driven from git.\n"
    assert {each: beside.said(each)["sync"] for each in others} == dict.fromkeys(others, "Shadow")
    assert not any("driven" in beside.motd(each) for each in others)
    assert "driven" in beside.rig.saltern("run", minion, "cmd.run", "echo driven").stdout

    beside.rig.push("back", {"states/saltern.yaml": (moved, "shadow: true\n")})
    beside.stock.wait("in shadow again", lambda: beside.said(minion)["sync"] == "Shadow", PATIENCE)
    beside.again(minion, "beside.conf")
    beside.stock.wait("the Salt master", lambda: beside.master.salt(minion, "test.ping") == {minion: True}, PATIENCE)
    assert beside.master.salt(minion, "state.apply")
    assert beside.motd(minion) == "This machine is managed.\n"
    assert "in shadow" in beside.rig.saltern("run", minion, "cmd.run", "echo no", check=False).stdout
