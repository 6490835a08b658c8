from __future__ import annotations

import pytest

from gitfs.config.settings import PerSaltenv, RemoteSettings
from gitfs.tree.saltenvs import Refs, environments, own_saltenvs

A, B, C, D = (letter * 40 for letter in "abcd")
REFS = Refs(heads={"main": A, "dev": B, "base": C}, tags={"v1": D, "dev": C})


def shown(refs=REFS, known=(), **options):
    settings = RemoteSettings(name="x", url="https://host/x", **options)
    return {
        env: (place.ref, place.commit)
        for env, place in environments(settings, refs, {*own_saltenvs(settings, refs), *known}).items()
    }


def test_branches_and_tags_are_environments_and_a_branch_comes_before_a_tag():
    assert shown() == {"base": ("main", A), "dev": ("dev", B), "v1": ("v1", D)}
    assert shown(ref_types=("tag", "branch"))["dev"] == ("dev", C)
    assert shown(ref_types=("branch",)) == {"base": ("main", A), "dev": ("dev", B)}


def test_the_base():
    assert shown(base="dev")["base"] == ("dev", B)
    assert shown(base="v1")["base"] == ("v1", D)
    assert "base" not in shown(base="gone")
    assert shown(refs=Refs(heads={"master": A})) == {"base": ("master", A)}


def test_a_commit_as_base():
    refs = Refs(heads={"main": A}, commits={"d" * 10: D})
    assert shown(refs=refs, base="d" * 10) == {"base": ("d" * 10, D), "main": ("main", A)}
    assert "base" not in shown(refs=refs, base="d" * 10, ref_types=("branch",))


def test_white_and_blacklist():
    assert set(shown(saltenv_whitelist=("base", "d*"))) == {"base", "dev"}
    assert set(shown(saltenv_blacklist=(r"v\d+",))) == {"base", "dev"}
    assert set(shown(saltenv_whitelist=("*",), saltenv_blacklist=("*",))) == set()


def test_mapping_can_be_disabled_and_single_environments_mapped():
    assert set(shown(disable_saltenv_mapping=True)) == {"base"}
    mapped = (PerSaltenv(saltenv="qa", ref="dev", root="r", mountpoint="m"),)
    settings = RemoteSettings(name="x", url="https://host/x", disable_saltenv_mapping=True, saltenvs=mapped)
    places = environments(settings, REFS, own_saltenvs(settings, REFS))
    assert set(places) == {"base", "qa"}
    assert (places["qa"].commit, places["qa"].root, places["qa"].mountpoint) == (B, "r", "m")
    assert "dev" not in shown(saltenvs=mapped)


def test_one_ref_in_all_environments():
    assert shown(all_saltenvs="v1", known=["base", "staging"]) == dict.fromkeys(
        ("base", "dev", "staging", "v1"), ("v1", D)
    )


def test_fallback_fills_the_environments_that_others_bring():
    assert shown(known=["qa"]).get("qa") is None
    assert shown(known=["qa"], fallback="main")["qa"] == ("main", A)
    assert shown(known=["qa"], fallback="main", disable_saltenv_mapping=True).get("qa") is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"branch": "main"}, {"base": ("main", A)}),
        ({"branch": "dev"}, {"dev": ("dev", B)}),
        ({"branch": "v1"}, {"v1": ("v1", D)}),
        ({"branch": "dev", "saltenv": "qa"}, {"qa": ("dev", B)}),
        ({"branch": "gone"}, {}),
        ({"only_base": True}, {"base": ("main", A)}),
    ],
)
def test_one_branch_of_a_pillar(options, expected):
    assert shown(**options, known=["other"]) == expected


def test_a_fallback_for_the_branch_of_a_pillar():
    assert shown(branch="gone", fallback="main") == {"gone": ("main", A)}
