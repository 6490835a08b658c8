"""A canary fails, with a real Prometheus beside it: the rollout stops, the rest is untouched, the alert is raised."""

import pytest
from prometheus_server import find_program, prometheus

BREAKS = {"states/app.sls": ("app-config:\n", "broken:\n  cmd.run:\n    - name: 'false'\napp-config:\n")}
NUMBER = {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")}


@pytest.fixture(scope="session")
def program(request):
    found = find_program("prometheus", request.config.cache.mkdir("prometheus"))
    return found or pytest.skip("there is no prometheus, and no apt that brings Debian's")


@pytest.mark.timeout(300)
def test_a_canary_that_fails_raises_an_alert_and_has_back_what_it_had(make_rig, program, tmp_path):
    rig = make_rig(minions={"web1": {}, "web2": {}, "web3": {}})
    rig.wait_applied(rig.push("what all have"))
    rollout = "rollout: {canary: 1, on_failure: rollback}\n"
    good = rig.push("policy", {"states/saltern.yaml": ("drift:", f"{rollout}drift:")})
    rig.wait("the policy", lambda: {one["applied_revision"] for one in rig.status().values()} == {good})
    before = {name: rig.root(name).joinpath("told").read_text() for name in rig.minions}
    with prometheus(program, tmp_path, rig.http.removeprefix("http://")) as watch:
        rig.wait("a scrape", watch.scraped)
        assert "SalternRolloutFailed" not in watch.firing()
        bad = rig.push("it breaks", {**BREAKS, **NUMBER})
        alert = rig.wait("the alert", lambda: watch.firing().get("SalternRolloutFailed"))
        assert alert["labels"]["severity"] == "critical"
        rig.wait("its end", lambda: rig.ask("/rollouts")[0]["phase"] == "RolledBack")
        rig.wait(
            "its phase",
            lambda: (
                watch.firing()["SalternRolloutFailed"]["annotations"]["summary"] == "The newest rollout is RolledBack"
            ),
        )
        rig.wait_applied(good)
        [canary] = [one for one in rig.ask("/rollout", name="")["batches"] if one["canary"]]
        rest = sorted({"web1", "web2", "web3"} - set(canary["names"]))
        assert len(rest) == 2
        for name in rest:
            assert rig.root(name).joinpath("told").read_text() == before[name], "nothing ran there"
            assert bad not in [run["revision"] for run in rig.history(name) if run["kind"] != "drift"]
        assert {(rig.root(name) / "app.conf").read_text() for name in rig.minions} == {"number 0\n"}

        head = rig.push("it is mended", {"states/app.sls": ("name: 'false'", "name: 'true'")})
        rig.wait_applied(head)
        rig.wait("the alert to be over", lambda: "SalternRolloutFailed" not in watch.firing())
