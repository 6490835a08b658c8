"""Public trees as jobs: where states and pillar are found, what is drawn, whom an error blames."""

from pathlib import Path

from tools.oracle.client import ours
from tools.oracle.trees import blamed_by_salt, blamed_by_us, pillar_root, sls_of_tree, state_root, tree_jobs, trees


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def test_states_and_pillar_are_found(tmp_path):
    usual = write(tmp_path / "usual", {"salt/top.sls": "{}", "pillar/top.sls": "{}", "salt/web/init.sls": ""})
    assert state_root(usual) == usual / "salt"
    assert pillar_root(usual) == usual / "pillar"
    bare = write(tmp_path / "bare", {"web/init.sls": "", "db/init.sls": "", "states/x.sls": ""})
    assert state_root(bare) == bare
    assert pillar_root(bare) is None
    write(tmp_path / "web-formula", {"web/init.sls": ""})
    assert [path.name for path in trees(tmp_path)] == ["bare", "usual"]


def test_a_tree_becomes_jobs(tmp_path):
    top = "base:\n  '*': [web, mail.a]\n"
    files = {"top.sls": top, "web.sls": "w:\n  test.nop: []\n", "mail/a.sls": "a:\n  test.nop: []\n"}
    tree = write(tmp_path / "tree", {**files, "mail/b.sls": "b:\n  test.nop: [{v: {{ pillar.v }}}]\n"})
    write(tree, {"pillar/top.sls": "base:\n  '*': [v]\n", "pillar/v.sls": "v: 1\n"})
    found = {job.name: job for job in tree_jobs(tree, 8)}
    assert sorted(found) == [
        f"tree {system} {kind}" for system in ("debian", "rocky") for kind in ("no pillar", "pillar")
    ]
    job = found["tree debian pillar"]
    assert job.runs == ((), ("mail.a",), ("mail.b",), ("web",), ("mail.*",))
    answers = dict(zip(job.runs, ours(job), strict=True))
    assert [chunk["__id__"] for chunk in answers[()].low] == ["w", "a"]
    assert [chunk["__id__"] for chunk in answers["mail.*",].low] == ["a", "b"]


def test_names_that_salt_cannot_read_are_left_out():
    assert sls_of_tree(["top.sls", "a.b/c.sls", "d/init.sls", "d/e.sls", "{x}/y.sls"]) == ["d", "d.e"]


def test_blame():
    assert blamed_by_salt(["Rendering SLS 'base:web.a' failed: x"]) == {"web.a"}
    assert blamed_by_salt(["No matching sls found for 'b.c' in env 'base'"]) == {"b.c"}
    assert "web" in blamed_by_us(["web/init.sls:3: bad\n> 3 | x"])
