"""Jobs that people ask for: how long they last, and what they say of how they went."""

import json
import re

import pytest


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


def test_a_function_without_a_command_is_ended_at_its_limit(make_rig):
    rig = make_rig(minions={"web1": {}})
    rig.stop("web1")
    with (rig.directory / "web1/minion").open("a") as configuration:
        configuration.write("stop_grace: 3600\n")  # for states alone
    rig.start_minion("web1")
    rig.wait("web1 to be back", lambda: rig.status()["web1"]["connected"])
    asked = rig.saltern("run", "web1", "--limit", "0.5", "-t", "300", "test.sleep", "3600", check=False)
    assert asked.returncode == 1
    assert "timed out after 0.5 s" in asked.stdout


@pytest.mark.parametrize("form", ["txt", "json", "yaml", "raw", "pprint", "table"])
def test_each_output_says_why_a_job_was_ended(make_rig, form):
    rig = make_rig(minions={"web1": {}})
    asked = rig.saltern("run", "web1", "--limit", "0.5", "cmd.run", "echo some; sleep 300", "--out", form, check=False)
    assert asked.returncode == 1
    assert "some" in asked.stdout
    assert "web1: timed out after 0.5 s" in asked.stderr


def test_a_summary_counts_who_is_away_and_who_is_not_known(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {}, "web3": {}})
    rig.stop("web3")
    rig.wait("web3 to be gone", lambda: not rig.status()["web3"]["connected"])
    of_many = rig.saltern("run", "-L", "web1,web2,web3,nobody", "test.ping", "--summary", "--hide-timeout", check=False)
    assert of_many.stdout.partition("Summary\n")[2].splitlines()[1:-1] == [
        "# of minions targeted: 4",
        "# of minions returned: 2",
        "# of minions that did not return: 2",
        "# of minions with errors: 0",
        "Minions not connected: web3",
        "Minions not known: nobody",
    ]


def test_a_job_that_failed_ends_the_verb_with_1(make_rig):
    rig = make_rig(minions={"web1": {}})
    asked = rig.saltern("run", "web1", "cmd.run", "echo out; exit 3", check=False)
    assert (asked.returncode, asked.stderr) == (1, "ERROR: Minions returned with non-zero exit code\n")
    assert "out" in asked.stdout
    assert [(run["outcome"], run["summary"]) for run in rig.history("web1")] == [("failed", "exit code 3")]


def outcomes(rig, jid):
    shown = rig.saltern("jobs", "show", jid, "--out", "json", check=False).stdout
    return {one["minion"]: one["outcome"] for one in json.loads(shown)["minions"]}


def test_a_job_says_what_became_of_it_on_each_minion(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {}, "web3": {}})
    rig.stop("web3")
    rig.wait("web3 to be gone", lambda: not rig.status()["web3"]["connected"])
    rig.saltern("run", "*", "cmd.run", "test $(hostname) = nobody; sleep 0.1", "--out", "json", check=False)
    last = json.loads(rig.saltern("jobs", "last", "--out", "json", check=False).stdout)
    assert {one["minion"]: one["outcome"] for one in last["minions"]} == {
        "web1": "ok",
        "web2": "ok",
        "web3": "unreachable",
    }
    away = last["minions"][2]
    assert away["summary"] == "was not connected: never asked"
    assert away["last_seen"] > 0
    assert last["job"]["outcomes"] == {"ok": 2, "unreachable": 1}
    assert json.loads(rig.saltern("jobs", "list", "-n", "1", "--out", "json").stdout) == [
        {"schema_version": 1, **last["job"]}
    ]
    by_hand = rig.saltern("jobs", "show", away["run_id"], check=False)
    assert by_hand.returncode == 1
    assert "web3" in by_hand.stdout
    assert rig.saltern("jobs", "show", "nothing", check=False).returncode == 1


def test_a_job_is_ended_on_all_its_minions(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {}})
    asked = rig.saltern("run", "*", "-t", "0.1", "cmd.run", "sleep 600", check=False)
    assert asked.returncode == 1
    active = json.loads(rig.saltern("jobs", "active", "--out", "json").stdout)
    (job,) = [one for one in active if one["fun"] == "cmd.run"]
    assert (job["running"], job["outcomes"], job["finished"]) == (2, {}, None)

    def found():
        said = json.loads(rig.saltern("run", "*", "saltutil.find_job", job["jid"], "--out", "json").stdout)
        return all(one.get("fun") == "cmd.run" for one in said.values())

    rig.wait("both to run it", found)
    assert rig.saltern("jobs", "kill", job["jid"]).stdout == "web1: asked to end it\nweb2: asked to end it\n"
    rig.wait("the end", lambda: outcomes(rig, job["jid"]) == {"web1": "cancelled", "web2": "cancelled"})
    assert rig.saltern("jobs", "kill", job["jid"]).stdout == ""
    last = json.loads(rig.saltern("jobs", "last", "--out", "json", check=False).stdout)["job"]
    assert (last["jid"], last["outcomes"]) == (job["jid"], {"cancelled": 2})
    assert all(one["jid"] != job["jid"] for one in rig.ask("/jobs", active="true"))


def test_jobs_are_listed_page_by_page(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {}})
    begun = [rig.saltern("run", "*", "test.ping", "--async", "--out", "json").stdout for _ in range(3)]
    jids = [json.loads(each)["jid"] for each in reversed(begun)]

    def listed(*words):
        return [one["jid"] for one in json.loads(rig.saltern("jobs", "list", *words, "--out", "json").stdout)]

    assert listed()[:3] == jids
    assert listed("-n", "2") == jids[:2]
    assert listed("-n", "1", "--before", jids[1]) == jids[2:]
    everything = listed("-n", "1000")  # runs of the desired state, too
    assert listed("--before", everything[-1]) == []
    wrong = rig.saltern("jobs", "list", "--before", "nothing", check=False)
    assert (wrong.returncode, "no job 'nothing'" in wrong.stderr) == (1, True)
    runner = json.loads(rig.saltern("runner", "jobs.list_jobs", "search_function=test.ping", "--out", "json").stdout)
    assert list(runner) == jids[::-1]


def test_a_limit_that_passed_and_a_result_that_comes_late_are_outcomes(make_rig):
    rig = make_rig(minions={"web1": {}})
    rig.saltern("run", "web1", "--limit", "0.5", "cmd.run", "sleep 600", check=False)
    assert rig.saltern("jobs", "last", check=False).stdout.count("timed out") >= 1
    rig.saltern("run", "web1", "-t", "0.1", "cmd.run", "sleep 2", check=False)
    job = json.loads(rig.saltern("jobs", "last", "--out", "json").stdout)["job"]["jid"]
    rig.wait("the minion to have it", lambda: rig.history("web1")[0]["state"] == "started")
    rig.kill("controller", children=False)
    rig.start_controller()
    rig.wait("the result that came late", lambda: outcomes(rig, job) == {"web1": "ok"})


NOBODY = (
    ("",),
    (" ",),
    ("nobody*",),
    ("-L", ""),
    ("-L", ","),
    ("-E", "web("),
    ("-E", "("),
    ("-G", "web1"),
    ("-G", ""),
    ("-P", "id:("),
    ("-I", ""),
    ("-J", "numbers:("),
    ("-N", "nothing"),
    ("-S", "10.0.0.0/99"),
    ("-S", "web1"),
    ("-C", ""),
    ("-C", "web1 and"),
    ("-C", "web1 or or web2"),
    ("-C", "( web1"),
    ("-C", "X@web1"),
    ("-C", "not"),
)


def test_a_target_that_is_empty_or_wrong_reaches_nobody(make_rig):
    rig = make_rig(minions={"web1": {}})
    for target in NOBODY:
        asked = rig.saltern("run", *target, "test.ping", check=False)
        assert asked.returncode in (1, 5, 64), target
        assert asked.stderr.startswith(("saltern: ", "Usage: ")), target
        assert asked.stdout == "", target
    assert rig.ask("/jobs") == []
