"""The controller is away: minions put drift right as far as their policy lets them, and tell it when it is back."""

import json
import os
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rig import Rig
from set_clock import SetClockRig
from small_disk import fill, small_disk

TREE = Path(__file__).parent / "tree"
HEALS = "drift: {mode: remediate, interval: 1, splay: 0, autonomy: 1s}"
NEVER = "{schedule: '0 0 29 2 *', duration: 1m}"
"""A window that is not open but for a minute in some years."""
CAUSE = "healed while the controller was away for "


def talkative(rig):
    """Minions that log each drift check."""
    for minion in rig.minions:
        path = rig.directory / minion / "minion"
        path.write_text(path.read_text() + "log_level: info\n")


def with_policy(rig, text):
    """A fleet whose minions have applied all, and have been told the policy."""
    rig.wait_applied(rig.push("what all have", {"states/saltern.yaml": ("drift: {interval: 30m}", HEALS)}))
    head = rig.push("policy", {"states/saltern.yaml": (HEALS, f"{HEALS}\n{text}")})
    rig.wait("the policy", lambda: {each["applied_revision"] for each in rig.status().values()} == {head})
    for minion in rig.minions:
        checked_again(rig, minion, outcome="ok")


def conf(rig, minion):
    return rig.root(minion) / "app.conf"


def checks(rig, minion, outcome="pending"):
    """How many drift checks a minion has made."""
    lines = rig.log(minion, 100_000).splitlines()
    return sum("run_id=drift-" in line and f"outcome={outcome}" in line for line in lines)


def checked_again(rig, minion, outcome="pending"):
    seen = checks(rig, minion, outcome)
    rig.wait(f"checks by {minion}", lambda: checks(rig, minion, outcome) >= seen + 2)


def healed(rig, minion):
    """Runs that the minion began by itself, as history has them, oldest first."""
    return [each for each in reversed(rig.history(minion)) if each["run_id"].startswith("heal-")]


@pytest.mark.timeout(300)
def test_drift_is_healed_where_policy_lets_the_minion_and_told_afterwards(make_rig):
    rig = make_rig({each: {} for each in ("web1", "web2", "db1", "db2", "db3", "db4")}, talkative)
    with_policy(
        rig,
        f"""policies:
- {{name: shut, target: db1, windows: [{NEVER}]}}
- {{name: frozen, target: db2, suspend: true}}
- {{name: shown, target: db3, drift: {{mode: report}}}}
- {{name: dependent, target: db4, drift: {{autonomy: false}}}}
- {{name: by hand, target: web2, apply: manual}}""",
    )
    told = rig.saltern("policy", "explain", "db4").stdout
    assert "drift.autonomy" in told
    rig.push("what nobody has released", {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")})
    rig.wait_applied(rig.head(), ["web1", "db3", "db4"])
    rig.wait("a push that waits", lambda: rig.status()["web2"]["message"] == "waits for `saltern sync`")
    for minion in rig.minions:
        checked_again(rig, minion, outcome="ok")

    rig.kill("controller", children=True)
    for minion in rig.minions:
        conf(rig, minion).write_text("by hand\n")
    rig.wait("web1 to be healed", lambda: conf(rig, "web1").read_text() == "number 1\n")
    rig.wait("web2 to be healed", lambda: conf(rig, "web2").read_text() == "number 0\n")
    for minion in ("db1", "db2", "db3", "db4"):
        checked_again(rig, minion)
        assert conf(rig, minion).read_text() == "by hand\n", minion
    rig.kill("web1", children=True)
    rig.start_minion("web1")

    rig.start_controller()
    for minion in ("web1", "web2"):
        rig.wait(f"the runs of {minion}", lambda minion=minion: healed(rig, minion))
        [run] = healed(rig, minion)
        assert (run["kind"], run["outcome"], run["cause"].startswith(CAUSE)) == ("remediate", "changed", True), run
        drift = run["cause"].rpartition("drift ")[2]
        assert (minion, "pending") == next(
            (each["minion"], each["outcome"]) for each in rig.history(minion) if each["run_id"] == drift
        )
    rig.wait("web1 to be well", lambda: rig.status()["web1"]["health"] == "Healthy")
    assert [rig.status()[each]["sync"] for each in ("web1", "web2")] == ["Synced", "OutOfSync"]
    for minion in ("db1", "db2", "db3", "db4"):
        assert not healed(rig, minion)
    assert conf(rig, "db1").read_text() == conf(rig, "db2").read_text() == conf(rig, "db3").read_text() == "by hand\n"
    rig.wait("the controller to heal db4", lambda: conf(rig, "db4").read_text() == "number 1\n")
    assert 'saltern_remediations_alone_total{outcome="changed"} 2.0' in metrics(rig)
    shown = rig.saltern("events", "saltern/minion/*/remediated", "--since", "1h", "-n", "2", "--out", "json").stdout
    assert {json.loads(line)["data"]["id"] for line in shown.splitlines()} == {"web1", "web2"}


def metrics(rig):
    import httpx

    return httpx.get(f"{rig.http}/metrics").raise_for_status().text


@pytest.fixture
def clock_rig():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    made = SetClockRig(folder, {"web1": {}}, TREE, {})
    try:
        made.up(talkative)
        yield made
    finally:
        made.stop_all()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.timeout(300)
def test_a_clock_that_is_set_into_the_window_heals_nothing(clock_rig):
    rig = clock_rig
    hour = (datetime.now(UTC).hour + 12) % 24
    with_policy(rig, f"windows: [{{schedule: '0 {hour} * * *', duration: 2h}}]")
    rig.kill("controller", children=True)
    conf(rig, "web1").write_text("by hand\n")
    checked_again(rig, "web1")
    rig.set_clock("minions", 12 * 3600.0)
    checked_again(rig, "web1")
    rig.kill("web1", children=True)
    rig.start_minion("web1")
    checked_again(rig, "web1")
    assert conf(rig, "web1").read_text() == "by hand\n"
    rig.set_clock("minions", 0)
    rig.start_controller()
    rig.wait("web1", lambda: rig.status()["web1"]["connected"])
    head = rig.push(
        "no window", {"states/saltern.yaml": (f"windows: [{{schedule: '0 {hour} * * *', duration: 2h}}]", "")}
    )
    rig.wait("it to be put right", lambda: conf(rig, "web1").read_text() == "number 0\n")
    assert head
    assert not healed(rig, "web1")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts are root's")
@pytest.mark.timeout(300)
def test_a_full_disk_keeps_it_waiting():
    with (
        tempfile.TemporaryDirectory(prefix="saltern-", ignore_cleanup_errors=True) as folder,
        small_disk(Path(folder) / "web1/agent") as place,
        Rig(Path(folder), {"web1": {}}, TREE, forked=True) as rig,
    ):
        rig.up(talkative)
        with_policy(rig, "retry: {duration: 1s, factor: 1}")
        rig.kill("controller", children=True)
        fill(place)
        conf(rig, "web1").write_text("by hand\n")
        rig.wait("the agent to notice", lambda: "No space left" in rig.log("web1", 100_000))
        (place / "ballast").unlink()
        rig.wait("web1 to be healed", lambda: conf(rig, "web1").read_text() == "number 0\n")
        rig.start_controller()
        rig.wait("the run", lambda: [each for each in healed(rig, "web1") if each["outcome"] == "changed"])
        rig.wait("web1 to be well", lambda: rig.status()["web1"]["health"] == "Healthy")
