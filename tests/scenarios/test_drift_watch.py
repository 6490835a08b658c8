"""`drift: watch: true`: what somebody else changes of managed files is checked, and healed, at once."""

import json
import time
from pathlib import Path

import psutil

POLICY = {"states/saltern.yaml": ("drift: {interval: 30m}", "drift: {interval: 0, watch: true, mode: MODE}")}


def watching(make_rig, mode):
    rig = make_rig(minions={"web1": {}})
    ((path, (old, new)),) = POLICY.items()
    rig.wait_applied(rig.push("watch", {path: (old, new.replace("MODE", mode))}))
    conf = rig.root("web1") / "app.conf"
    wait_for_watch(rig, conf)
    return rig, conf


def wait_for_watch(rig, conf):
    """A process of the agent's watches the folder of the file, as the kernel says."""
    wanted = f"ino:{conf.parent.stat().st_ino:x} "

    def watched():
        group = psutil.Process(rig.pid("web1")).children(recursive=True)
        said = [told for each in group for one in Path(f"/proc/{each.pid}/fdinfo").glob("*") if (told := text(one))]
        return any(wanted in one for one in said if "inotify" in one)

    def text(path):
        """Processes, and what they have open, come and go while it is looked."""
        try:
            return path.read_text()
        except OSError:
            return ""

    rig.wait("the watch", watched)


def test_an_edited_file_is_healed_and_the_heal_sets_nothing_off(make_rig):
    rig, conf = watching(make_rig, "remediate")
    wanted = conf.read_text()
    before = {run["run_id"] for run in rig.history("web1")}

    def since():
        found = [run for run in reversed(rig.history("web1")) if run["run_id"] not in before]
        return found if all(run["state"] == "finished" for run in found) else []

    conf.write_text("edited\n")
    rig.wait("healing", lambda: conf.read_text() == wanted)
    check, heal = rig.wait("the record", lambda: len(since()) >= 2 and since())
    assert (check["kind"], check["cause"]) == ("drift", "changed by others")
    assert (heal["kind"], heal["cause"]) == ("remediate", f"drift {check['run_id']}")
    conf.unlink()
    rig.wait("healing", conf.exists)
    runs = rig.wait("both", lambda: len(since()) >= 4 and since())
    assert [run["kind"] for run in runs] == ["drift", "remediate"] * 2, "a run of Saltern's own set off a check"
    assert rig.status()["web1"]["health"] == "Healthy"


def test_what_is_edited_again_and_again_is_told_and_healed_less_often(make_rig):
    rig, conf = watching(make_rig, "remediate")

    def contested():
        conf.write_text(f"edited {time.monotonic()}\n")
        return "what is managed is changed again and again" in rig.log("controller", 1000)

    # Checks come less and less often, by then up to a minute apart on a busy machine.
    rig.wait("the warning", contested, patience=240)
    shown = rig.saltern("events", "saltern/minion/web1/contested", "--since", "1h", "-n", "1", "--out", "json")
    told = json.loads(shown.stdout)
    assert told["data"]["times"] == 5
    assert [key.split("_|-")[1] for key in told["data"]["states"]] == ["app-config"]


def test_with_report_it_is_only_shown_and_gone_when_it_is_in_order_again(make_rig):
    rig, conf = watching(make_rig, "report")
    wanted = conf.read_text()
    conf.write_text("edited\n")
    rig.wait("the report", lambda: rig.status()["web1"]["health"] == "Drifted")
    assert conf.read_text() == "edited\n"
    conf.write_text(wanted)
    rig.wait("the report", lambda: rig.status()["web1"]["health"] == "Healthy")
