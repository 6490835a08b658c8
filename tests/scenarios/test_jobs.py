"""Jobs that people ask for: how long they last, and what they say of how they went."""

import json
import re


def test_the_patience_of_who_asks_is_not_the_limit_of_the_job(make_rig):
    rig = make_rig(minions={"web1": {}})
    done = rig.directory / "done"
    asked = rig.saltern("run", "web1", "-t", "1", "cmd.run", f"sleep 4; touch {done}; echo late", check=False)
    assert asked.returncode == 1
    said = r"did not return within 1 s. The job goes on; its result: saltern history (\d{20})$"
    jid = re.search(said, asked.stdout, re.MULTILINE)
    assert jid, asked.stdout
    rig.wait("the job to go on", done.exists)
    rig.wait("its result", lambda: rig.history("web1")[0]["state"] == "finished")
    shown = rig.saltern("history", jid[1]).stdout
    assert shown.endswith("late\n")
    assert json.loads(rig.saltern("history", jid[1], "--out", "json").stdout)["value"] == "late"


def test_a_limit_of_the_job_is_an_option_of_its_own(make_rig):
    rig = make_rig(minions={"web1": {}})
    asked = rig.saltern("run", "web1", "--limit", "1", "cmd.run", "sleep 300", check=False)
    assert asked.returncode == 1
    assert "timed out after 1 s" in asked.stdout


def test_a_job_that_failed_ends_the_verb_with_1(make_rig):
    rig = make_rig(minions={"web1": {}})
    asked = rig.saltern("run", "web1", "cmd.run", "echo out; exit 3", check=False)
    assert (asked.returncode, asked.stderr) == (1, "ERROR: Minions returned with non-zero exit code\n")
    assert "out" in asked.stdout
    assert [(run["outcome"], run["summary"]) for run in rig.history("web1")] == [("failed", "exit code 3")]
