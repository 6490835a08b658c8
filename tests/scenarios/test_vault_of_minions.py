"""A minion reads its own secrets on a real OpenBao server, by tokens that the controller has made for it."""

import json

import pytest
from openbao import openbao

ASKED = ["vault.get_config", "vault.generate_new_token", "vault.get_role_id", "vault.generate_secret_id"]


@pytest.fixture(scope="module")
def bao(tmp_path_factory):
    with openbao(tmp_path_factory.mktemp("bao")) as server:
        server.ask("POST", "sys/auth/salt-minions", {"type": "approle"})
        for minion in ("web1", "web2"):
            server.write(f"app/{minion}", password=f"s3cret-of-{minion}")
            server.policy(f"saltstack/{minion}", f"secret/data/app/{minion} read")
        yield server


@pytest.mark.parametrize("kind", ["token", "approle"])
def test_a_minion_reads_what_is_its_own_and_nobody_else_sees_the_token(make_rig, bao, kind):
    vault = {"server": {"url": bao.url}, "auth": {"token": "root"}, "issue": {"type": kind}}
    rig = make_rig(minions={"web1": {}, "web2": {}}, vault=vault, peer_run={"web1": ASKED})
    (rig.work / "states" / "top.sls").write_text("base:\n  '*': [s]\n")
    (rig.work / "states" / "s.sls").write_text(
        "{{ grains.root }}/conf:\n  file.managed:\n    - makedirs: True\n    - contents: "
        "{{ salt['vault.read_secret']('secret/app/' ~ grains.id, 'password') }}\n"
    )
    rig.wait_applied(rig.push("secrets"))
    for minion in ("web1", "web2"):
        assert (rig.root(minion) / "conf").read_text() == f"s3cret-of-{minion}\n"

    def run(minion, *words):
        done = rig.saltern("run", minion, *words, "--out", "json", check=False)
        return done.returncode, json.loads(done.stdout).get(minion)

    code, shown = run("web1", "vault.read_secret", "secret/app/web1", "password")
    assert (code, shown.startswith("<secret ")) == (0, True), shown
    code, said = run("web1", "vault.read_secret", "secret/app/web2")
    assert (code != 0, "does not permit GET of secret/data/app/web2" in said) == (True, True), said
    code, said = run("web2", "vault.read_secret", "secret/app/web2")
    assert (code != 0, "peer_run has to name it" in said) == (True, True), said
    code, said = run("web1", "publish.runner", ASKED[1], "['web2']")
    assert "web1 may not ask for web2" in said
    shown = rig.saltern("runner", "vault.show_policies", "web1", "--out", "json").stdout
    assert json.loads(shown) == ["saltstack/minions", "saltstack/web1"]
    told = rig.saltern("audit", "list", "--user", "minion web1", "--out", "json").stdout
    assert "vault.get_config" in told
    assert '"wrap_info"' not in told
