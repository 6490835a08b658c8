"""`saltern pulls`, against an API that answers."""

from __future__ import annotations

import json

import yaml


def test_a_line_for_each(saltern, served):
    done = saltern("pulls")
    assert done.code == 0
    head, first, second = done.out.splitlines()
    assert head.split()[:4] == ["PULL_REQUEST", "HEAD", "CHECK", "CHANGED"]
    assert first.split()[:7] == ["org/states#12", "aaaaaaaa", "success", "12/1204", "0", "3", *first.split()[6:7]]
    assert "\x1b" not in done.out, "a title does not steer the terminal"
    assert second.split()[:6] == ["org/states#9", "cccccccc", "neutral", "-", "-", "-"], "of another head: not shown"
    assert second.endswith("a maintainer: /saltern preview --commit cccccccccccc (a fork)")


def test_as_a_document(saltern, served):
    found = json.loads(saltern("pulls", "--out", "json").out)
    assert [each["number"] for each in found] == [12, 9]
    assert found[0]["previewed_head"] == "a" * 40
    assert yaml.safe_load(saltern("pulls", "--out", "yaml").out) == found


def test_some_are_chosen_by_forge_or_project(saltern, served):
    assert len(saltern("pulls", "org/states").out.splitlines()) == 3
    assert len(saltern("pulls", "hub").out.splitlines()) == 3
    done = saltern("pulls", "org/statse")
    assert done.code == 1
    assert "did you mean org/states" in done.err
