"""A controller that was killed and is started again compiles nobody whose document holds still."""

import re

import httpx

MINIONS = {"web1": {"roles": ["web"]}, "db1": {"roles": ["db"]}}


def counted(rig, name):
    text = httpx.get(f"{rig.http}/metrics", timeout=30).text
    return int(float(re.search(rf"(?m)^saltern_{name} (\S+)", text)[1]))


def compiled(rig):
    """How many minions the controller has compiled since its start."""
    return counted(rig, "compile_seconds_count")


def test_only_who_is_concerned_is_compiled_after_a_restart(make_rig):
    rig = make_rig(minions=MINIONS)
    rig.wait_applied(rig.push("The first"))
    rig.kill("controller", children=True)
    rig.start_controller()
    rig.wait("both to be back", lambda: all(each["connected"] for each in rig.status().values()))
    (rig.work / "states/unread.sls").write_text("unread: {test.nop: []}\n")
    rig.wait_applied(rig.push("What nobody reads"))
    rig.wait("a page of metrics after it", lambda: counted(rig, "compiles_spared_total") >= 2)
    assert compiled(rig) == 0
    (rig.work / "states/db.sls").write_text("db: {test.nop: []}\n")
    rig.wait_applied(rig.push("What db1 alone reads"))
    rig.wait("a page of metrics after it", lambda: compiled(rig) > 0)
    assert compiled(rig) == 1
