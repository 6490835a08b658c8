"""`saltern run` with a part of the minions, in batches, without waiting: on real minions."""

from __future__ import annotations

import json

import pytest

MINIONS = {"web1": {"role": "web"}, "web2": {"role": "web"}, "web3": {"role": "web"}, "db1": {"role": "db"}}
PILLAR = "tier: {{ 'front' if grains.role == 'web' else 'back' }}\n"


@pytest.fixture(scope="module")
def shared_rig(make_shared_rig):
    rig = make_shared_rig(minions=MINIONS)
    (rig.work / "pillar/tiers.sls").write_text(PILLAR)
    (rig.work / "pillar/top.sls").write_text("base:\n  '*':\n    - numbers\n    - tiers\n")
    rig.wait_applied(rig.push("tiers"))
    return rig


@pytest.fixture
def rig(shared_rig):
    shared_rig.start_stopped()
    return shared_rig


def asked(rig, *words, code=0):
    done = rig.saltern("run", *words, "--out", "json", check=False)
    assert done.returncode == code, (done.stdout, done.stderr)
    return json.loads(done.stdout)


def test_targets_and_parts_of_them(rig):
    assert asked(rig, "-J", "tier:^fr", "--preview-target") == ["web1", "web2", "web3"]
    assert asked(rig, "-I", "tier:back", "test.ping") == {"db1": True}
    assert len(asked(rig, "web*", "test.ping", "--subset", "2")) == 2
    assert asked(rig, "-G", "role/web", "--delimiter", "/", "--preview-target") == ["web1", "web2", "web3"]
    assert asked(rig, "-I", "tier|back", "--delimiter", "|", "test.ping") == {"db1": True}
    assert asked(rig, "-C", "db* and I/@tier/back", "test.ping") == {"db1": True}
    for wrong in (("role/web", "a"), ("role/web", "//"), ("role/w b", "/")):
        assert rig.saltern("run", "-G", wrong[0], "--delimiter", wrong[1], "test.ping", check=False).returncode == 64
    refused = rig.saltern("run", "-R", "%web", "test.ping", check=False)
    assert refused.returncode == 64
    assert "range_server: HOST:PORT" in refused.stderr


def test_options_that_people_type_to_salt(rig):
    one_line = rig.saltern("run", "web*", "test.ping", "--bwait", "0", "--out", "json", "--out-indent", "-1").stdout
    assert one_line.count("\n") == 1
    assert json.loads(one_line) == {"web1": True, "web2": True, "web3": True}
    wide = rig.saltern("run", "web1", "test.ping", "--out", "json", "--out-indent", "8").stdout
    assert wide == '{\n        "web1": true\n}\n'
    doc = rig.saltern("run", "-d", "web*", "test.ping").stdout
    assert doc.startswith("test.ping:\n\n")
    assert doc.count("test.ping:") == 1
    assert "test.echo:" in rig.saltern("run", "--doc", "web1", "test").stdout
    changed = rig.saltern("run", "web1", "state.apply", "--output-diff").stdout
    assert "Succeeded:" in changed
    rig.stop("db1")
    rig.wait("db1 to be gone", lambda: not rig.status()["db1"]["connected"])
    both = ("--hide-timeout", "--show-timeout")
    assert "db1" in rig.saltern("run", "*", "test.ping", *both, check=False).stdout
    assert "db1" not in rig.saltern("run", "*", "test.ping", both[0], check=False).stdout


def test_a_batch_goes_over_all_and_stops_where_it_shall(rig):
    assert asked(rig, "*", "test.ping", "-b", "1") == dict.fromkeys(MINIONS, True)
    assert asked(rig, "*", "test.ping", "-b", "50%", "--batch-wait", "0.1") == dict.fromkeys(MINIONS, True)
    stopped = asked(rig, "web*", "cmd.run", "exit 3", "-b", "1", "--failhard", code=1)
    assert len(stopped) == 1
    safe = rig.saltern("run", "*", "test.ping", "--batch-safe-limit", "2", "--batch-safe-size", "3")
    assert "more than 2 minions are meant: 3 at a time" in safe.stderr
    for size in ("0", "x", "-1", "0%"):
        assert rig.saltern("run", "*", "test.ping", "-b", size, check=False).returncode == 64, size
    for step in ("new", "progress", "complete", "halted"):
        told = rig.saltern("events", f"salt/batch/*/{step}", "--since", "1h", "-n", "1", "--out", "json")
        assert json.loads(told.stdout)["data"]["user"], step


def test_nobody_waits_and_the_job_is_done_all_the_same(rig):
    begun = asked(rig, "web*", "cmd.run", "sleep 1; echo done", "-b", "1", "--async")
    assert begun["minions"] == ["web1", "web2", "web3"]
    jid = begun["jid"]

    def returned():
        done = rig.saltern("runner", "jobs.lookup_jid", jid, "--out", "json", check=False)
        return json.loads(done.stdout) == dict.fromkeys(("web1", "web2", "web3"), "done")

    rig.wait("all returns", returned)
    shown = rig.saltern("run", "*", "test.ping", "--summary", "-v", "--static")
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("Executing job with jid 20")
    assert "# of minions returned: 4" in lines
    assert next(line for line in lines if line.endswith(("1:", "2:"))) == "db1:"
    rig.stop("db1")
    rig.wait("it to be gone", lambda: not rig.status()["db1"]["connected"])
    gone = rig.saltern("run", "*", "test.ping", "--summary", "--hide-timeout", check=False)
    assert "Minions not connected: db1" in gone.stdout
    assert "# of minions returned: 3" in gone.stdout
