"""The cases themselves: reproducible, mostly trees that compile, and read as the oracle reads them."""

import json

import pytest

from tools.oracle.client import Answer, difference, ours
from tools.oracle.formulas import GRAINS, combined, jobs, line, sls_names
from tools.oracle.goldens import KINDS, job_of, random_case


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_case(kind):
    assert all(random_case(kind, seed).sections == random_case(kind, seed).sections for seed in range(20))
    assert len({json.dumps(random_case(kind, seed).sections) for seed in range(20)}) > 15


@pytest.mark.parametrize("kind", KINDS)
def test_most_random_cases_compile(kind):
    answers = [answer for seed in range(40) for answer in ours(job_of(random_case(kind, seed)))]
    assert sum(not answer.errors for answer in answers) > 15


def test_differences_are_told():
    chunk = {"__id__": "a", "__env__": "base", "state": "test", "fun": "nop", "name": "a", "order": 1}
    mine = Answer(low=(chunk,))
    assert difference(mine, mine) == ""
    assert "order" in difference(mine, Answer(low=({**chunk, "order": 2},)))
    assert "ours has 1 chunks, Salt 2" in difference(mine, Answer(low=(chunk, chunk)))
    assert "no error" in difference(mine, Answer(errors=("bad",)))
    assert difference(Answer(errors=("ours",)), Answer(errors=("theirs",))) == ""


def test_a_formula_becomes_jobs(tmp_path):
    formula = tmp_path / "web-formula"
    for path, text in {
        "web/init.sls": "web:\n  pkg.installed: []\n",
        "web/sub/x.sls": "{{ grains.os }}:\n  test.nop: []\n",
        "test/salt/pillar/p.sls": "a: 1",
        "pillar.example": "web: 1\n",
        ".git/config": "",
    }.items():
        (formula / path).parent.mkdir(parents=True, exist_ok=True)
        (formula / path).write_text(text)
    made = list(jobs(formula))
    assert len(made) == 8
    assert {job.grains["os"] for job in made} == {"Debian", "Ubuntu", "Rocky", "FreeBSD"}
    assert made[0].runs == (("web",), ("web.sub.x",))
    assert all(not answer.errors for job in made for answer in ours(job))


def test_sls_of_tests_are_left_out():
    assert sls_names(["a/init.sls", "a/b/c.sls", "top.sls", "test/salt/x.sls", "a/README"]) == ["a", "a.b.c"]


def test_grains_are_whole():
    assert sorted(path.stem for path in GRAINS.glob("*.yaml")) == ["debian", "freebsd", "rocky", "ubuntu"]


def test_a_row_of_the_table():
    row = {"formula": "web", "cases": 8, "seconds": 1.25}
    assert line(row).split() == ["web", "8", "1.2"]


def test_formulas_are_combined(tmp_path):
    for name in ("web", "mail", "base"):
        folder = tmp_path / f"{name}-formula" / name
        folder.mkdir(parents=True)
        (folder / "init.sls").write_text(f"{name}:\n  test.nop: [{{v: {{{{ pillar.{name} }}}}}}]\n")
        (folder / "broken.sls").write_text("{{ nothing }}")
        (folder.parent / "pillar.example").write_text(f"{name}: 1\n")
    made = list(combined(tmp_path, (), range(6)))
    assert all("broken" not in job.name for job in made)
    assert max(len(answer.low) for job in made for answer in ours(job)) > 1
    assert all(not answer.errors for job in made for answer in ours(job))
