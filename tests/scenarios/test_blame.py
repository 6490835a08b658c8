"""Each value of a state leads to the line and the commit that brought it."""

import json


def test_a_value_leads_to_its_line_its_pillar_and_their_commits(make_rig):
    rig = make_rig(minions={"db1": {}})
    rig.wait_applied(rig.push("first"))
    port = rig.push("another port", {"pillar/numbers.sls": ("port: 5432", "port: 5433")})
    rig.wait_applied(port)
    view = json.loads(rig.saltern("blame", "db1", "db-config", "--out", "json").stdout)
    (state,) = view["states"]
    values = {one["name"]: one for one in state["values"]}
    assert values["contents"]["value"] == "port 5433"
    place = values["contents"]["place"]
    assert (place["file"], place["line"], place["commit"]["subject"]) == ("states/db.sls", 4, "first")
    (key,) = values["contents"]["pillar"]
    (there,) = key["places"]
    assert (key["path"], key["value"], there["file"]) == ("port", 5433, "pillar/numbers.sls")
    assert (there["commit"]["commit"][:8], there["commit"]["subject"]) == (port, "another port")
    shown = rig.saltern("blame", "db1", "db-config").stdout
    assert f"pillar/numbers.sls:2  {port}" in shown
    assert "content of app.conf.j2" in rig.saltern("blame", "db1", "app-config").stdout
    missing = rig.saltern("blame", "db1", "nothing", check=False)
    assert "has no state 'nothing'" in missing.stderr
    assert missing.returncode == 1
