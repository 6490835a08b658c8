"""What git no longer names: told, removed by policy, and held back where a slip is likely; kill -9 loses no ownership."""

import json

EXTRA = """extra-folder:
  file.directory:
    - name: {{ grains['root'] }}/extra
extra-file:
  file.managed:
    - name: {{ grains['root'] }}/extra/one.conf
    - contents: one
extra-link:
  file.symlink:
    - name: {{ grains['root'] }}/link
    - target: {{ grains['root'] }}/extra/one.conf
"""


def _with_extra(rig, policy="prune: on\n"):
    (rig.work / "states/extra.sls").write_text(EXTRA)
    return rig.push(
        "extra",
        {"states/top.sls": ("    - app\n", "    - app\n    - extra\n"), "states/saltern.yaml": ("drift:", f"{policy}drift:")},
    )


def _without_extra(rig):
    return rig.push("no extra", {"states/top.sls": ("    - app\n    - extra\n", "    - app\n")})


def _last_states(rig, minion):
    run = rig.history(minion)[0]
    return json.loads(rig.saltern("show", "run", run["run_id"], "--out", "json").stdout)


def test_what_a_push_takes_out_of_git_is_removed_in_its_run(make_rig):
    rig = make_rig(minions={"web1": {}})
    root = rig.root("web1")
    rig.wait_applied(_with_extra(rig))
    assert (root / "extra/one.conf").read_text() == "one\n"
    rig.wait_applied(_without_extra(rig))
    assert not (root / "extra").exists()
    assert not (root / "link").is_symlink()
    assert (root / "app.conf").exists()
