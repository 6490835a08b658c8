"""`saltern pulls`, against an API that answers."""

from __future__ import annotations

import json

import yaml


def test_a_line_for_each(saltern, served):
    done = saltern("pulls")
    assert done.code == 0
    head, first, second, *held = done.out.splitlines()
    assert head.split()[:4] == ["PULL_REQUEST", "HEAD", "CHECK", "CHANGED"]
    assert first.split()[:7] == ["org/states#12", "aaaaaaaa", "success", "12/1204", "0", "3", *first.split()[6:7]]
    assert "\x1b" not in done.out, "a title does not steer the terminal"
    assert second.split()[:6] == ["org/states#9", "cccccccc", "neutral", "-", "-", "-"], "of another head: not shown"
    assert second.endswith("a maintainer: /saltern preview --commit cccccccccccc (a fork)")
    assert held == [
        "org/states#12 at aaaaaaaa, applied by max, is held until 1970-01-01 01:16 UTC",
        "    by web1, web2",
    ]


def test_as_a_document(saltern, served):
    found = json.loads(saltern("pulls", "--out", "json").out)
    assert [each["number"] for each in found] == [12, 9]
    assert found[0]["previewed_head"] == "a" * 40
    assert yaml.safe_load(saltern("pulls", "--out", "yaml").out) == found


def test_some_are_chosen_by_forge_or_project(saltern, served):
    assert len(saltern("pulls", "org/states").out.splitlines()) == 5
    assert len(saltern("pulls", "hub").out.splitlines()) == 5
    done = saltern("pulls", "org/statse")
    assert done.code == 1
    assert "did you mean org/states" in done.err


def test_previews_are_listed_by_what_is_done_about_them(saltern, served):
    done = saltern("preview", "list", "org/states")
    head, first, second = done.out.splitlines()
    assert head.split() == ["PULL_REQUEST", "HEAD", "PREVIEW", "SINCE", "HELD_BY", "ADDRESS"]
    assert first.split()[:4] == ["org/states#9", "cccccccc", "running", "(restricted)"]
    assert second.split()[:3] == ["org/states#12", "aaaaaaaa", "done"]
    assert second.endswith("2 minions  https://hub/12")
    assert {each["preview"] for each in json.loads(saltern("preview", "list", "--out", "json").out)} == {
        "done",
        "running",
    }
    assert saltern("preview", "list", "nope").code == 1
    assert "--base" in saltern("preview", "--head", "x").err, "without the list both are needed"


def test_minions_are_released(saltern, served):
    assert saltern("unapply", "org/states#12").out.splitlines() == ["released web1", "released web2"]
    found = saltern("unapply", "hub:org/states#12", "--target", "*2", "--out", "json")
    assert json.loads(found.out) == {"schema_version": 1, "minions": ["web2"]}
    refused = saltern("unapply", "org/states#9")
    assert (refused.code, "saltern pulls" in refused.err) == (1, True)
