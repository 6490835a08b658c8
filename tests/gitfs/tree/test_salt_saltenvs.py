"""Which ref is which saltenv, option by option, beside what Salt 3008.3 shows (recorded by tools/oracle/gitfs.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from effort import steps

from gitfs.config.remotes import file_remotes, pillar_remotes
from gitfs.source import Source

GOLDEN = Path(__file__).parents[2] / "golden" / "gitfs"
CASES = json.loads((GOLDEN / "cases.json").read_text())
RECORDED = json.loads((GOLDEN / "saltenvs.json").read_text())
PILLARS = json.loads((GOLDEN / "pillar_cases.json").read_text())
PILLARS_RECORDED = json.loads((GOLDEN / "pillars.json").read_text())

ON_DEMAND = "fallback", "saltenv only mountpoint unknown env"
"""Cases in which Salt has files for a saltenv of any name that is asked for."""
TAGS_FOLLOWED = {
    "refspecs": {"develop", "v1.0"},
    "refspec renamed": {"develop", "v1.0", "v2.0"},
}
"""Saltenvs of tags that no refspec names: git brings tags of what it fetches unasked."""
PILLARS_DIFFERENT = {
    "__env__ + fallback": {"master"},  # shown as `base`; Salt does not let it fall back by its own name
    "__env__ + all_saltenvs": {"master", "zzz"},  # a saltenv is made by a ref or the configuration
    "mountpoint": {"base"},  # Salt passes over a remote that is mounted, and over its top file
}
"""Case of pillar -> pillarenvs that see something else than with Salt."""


def make_repository(remote):
    for branch in ("master", "develop", "feature/x", "foo", "qa"):
        if branch != "master":
            remote.run("checkout", "-q", "-b", branch, "master")
        own = branch.replace("/", "-")
        files = {"top.sls": "m", "salt/a.sls": "m", "other/salt/b.sls": "m"}
        remote.commit(files if branch == "master" else {f"only-{own}.sls": "x", f"salt/in-{own}.sls": "x"}, branch)
    for tag, ref in (("v1.0", "master"), ("v2.0", "refs/heads/develop"), ("develop", "master")):
        remote.run("tag", tag, ref)
        remote.run("push", "-q", "origin", f"refs/tags/{tag}")


@pytest.fixture
def repository(remote):
    make_repository(remote)
    return remote


def test_every_case_is_recorded():
    assert RECORDED.keys() == CASES["cases"].keys()


def test_all_cases(repository, tmp_path):
    text = json.dumps(CASES["cases"]).replace("URL", f"file://{repository.bare}")
    for number, (name, config) in enumerate(json.loads(text).items()):
        expected = RECORDED[name]
        assert [each.update_interval for each in file_remotes(config)] == expected["intervals"], name
        with Source(file_remotes(config), (), tmp_path / f"cache{number}") as source:
            (fetched,) = source.fetch(patience=60)
            assert not isinstance(fetched, Exception), name
            files = source.live().files
            saltenvs = set(files.saltenvs())
            shown = {env: " ".join(files.list(saltenv=env)) for env in CASES["saltenvs"]}
        shown = {env: names for env, names in shown.items() if names}
        followed = TAGS_FOLLOWED.get(name, set())
        wanted = {env: names for env, names in expected["files"].items() if env not in followed}
        if name.startswith(ON_DEMAND) or name.endswith("+ fallback"):
            # Here a saltenv is made by a ref or the configuration; those that are not, Salt gives the fallback.
            wanted = {env: names for env, names in wanted.items() if env in {"base", *expected["saltenvs"]}}
        assert shown == wanted, name
        fallen = {"base"} if "base" in shown else set()
        assert saltenvs == set(expected["saltenvs"]) - followed | fallen, name


def test_every_case_of_pillar_is_recorded():
    assert PILLARS_RECORDED.keys() == PILLARS["cases"].keys()


def test_all_cases_of_pillar(repository, tmp_path):
    """What each pillarenv sees of git_pillar, tree by tree."""
    different = {}
    configs = json.loads(json.dumps(PILLARS["cases"]).replace("URL", f"file://{repository.bare}"))
    chosen = {*steps([*configs], 10), *PILLARS_DIFFERENT}
    for name in chosen:
        config = configs[name]
        found = {}
        for saltenv in PILLARS["saltenvs"]:
            asked = {"asked_of_pillar": [saltenv], "pillar_includes": False}
            with Source((), pillar_remotes(config), tmp_path / "cache", **asked) as source:
                source.fetch(patience=60)
                trees = [part.list(saltenv=saltenv) for part in source.live().pillar.parts()]
            if any(trees):
                found[saltenv] = [" ".join(files) for files in trees if files]
        if found != PILLARS_RECORDED[name]:
            different[name] = {env for env in PILLARS["saltenvs"] if found.get(env) != PILLARS_RECORDED[name].get(env)}
    assert different == PILLARS_DIFFERENT
