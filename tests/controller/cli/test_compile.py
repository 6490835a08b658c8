"""`saltern compile` with all its inputs: git, facts, pillar files, minion options, batches; and its exit codes."""

import json

import pygit2
import pytest
import yaml


@pytest.fixture
def folder(tmp_path):
    """Write files below a folder; gives the folder."""

    def write(files):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        return tmp_path

    return write


def repository(path, files):
    """A repository whose branch main and tag v1 hold these files."""
    made = pygit2.init_repository(str(path), bare=True, initial_head="main")
    index = pygit2.Index()
    for name, text in files.items():
        index.add(pygit2.IndexEntry(name, made.create_blob(text.encode()), pygit2.enums.FileMode.BLOB))
    who = pygit2.Signature("Somebody", "somebody@example.org", 0)
    commit = made.create_commit("refs/heads/main", who, who, "first", index.write_tree(made), [])
    made.create_reference("refs/tags/v1", commit)
    return path


def test_git_in_place_of_folders(saltern, tmp_path):
    files = {"salt/top.sls": "base:\n  '*': [a]\n", "salt/a.sls": "{{ pillar.x }}:\n  test.nop: []\n"}
    pillar = {"top.sls": "base:\n  '*': [x]\n", "x.sls": "x: from-git\n"}
    states, pillars = repository(tmp_path / "s.git", files), repository(tmp_path / "p.git", pillar)
    words = ("--pillar-git", f"base={pillars}@main", "--out", "json")
    for ref in ("main", "v1"):
        done = saltern("compile", "--git", f"{states}@{ref}:salt", *words)
        assert [chunk["__id__"] for chunk in json.loads(done.out)] == ["from-git"], done
    assert saltern("compile", "--git", f"{states}@nosuch:salt", *words).code == 1
    assert saltern("compile", "--git", f"{states}@main:nosuch", *words).code == 1
    assert saltern("compile", "--git", str(states), *words).code == 64
    assert saltern("compile", "--git", f"{tmp_path}/gone@main", *words).code == 1


def test_what_a_compile_is_given(saltern, folder):
    top = folder(
        {
            "s/a.sls": "{{ salt['cmd.run']('id') }}-{{ pillar.p }}-{{ grains.g }}-{{ opts.own }}:\n  test.nop: []\n",
            "p.yaml": "p: pillar\n",
            "g.json": '{"g":\t"grain"}',
            "f.json": '[{"fun": "cmd.run", "args": ["id"], "ret": "fact"}]',
        }
    )
    words = ["compile", "--file-root", str(top / "s"), "--sls", "a", "--show", "lowstate"]
    words += ["--pillar-file", str(top / "p.yaml"), "--grains", str(top / "g.json"), "--facts", str(top / "f.json")]
    done = saltern(*words, "--opt", "own=[1, 2]", "--opt", "state_auto_order=false")
    [chunk] = yaml.safe_load(done.out)
    assert chunk["__id__"] == "fact-pillar-grain-[1, 2]"
    assert chunk["order"] < 10000
    assert saltern(*words, "--opt", "state_auto_order=maybe").code == 64
    assert saltern(*words, "--opt", "nonsense").code == 64
    (top / "g.json").write_text("{")
    done = saltern(*words)
    assert done.code == 1
    assert "g.json" in done.err


def test_highstate_or_sls_not_both(saltern, folder):
    top = folder({"s/top.sls": "base:\n  '*': [a]\n", "s/a.sls": "a:\n  test.nop: []\n"})
    assert saltern("compile", "a", "--highstate", "--file-root", str(top / "s")).code == 64
    assert saltern("compile", "--highstate", "--file-root", str(top / "s"), "--show", "sls").out == "- a\n"


def test_batch(saltern_process, folder):
    top = folder({"s/a.sls": "a:\n  test.nop: []\n", "s/b.sls": "b:\n"})
    cases = top / "cases.jsonl"
    cases.write_text('{"id": 1, "sls": ["a"]}\n')
    done = saltern_process("compile", "--batch", str(cases), "--file-root", str(top / "s"))
    assert (done.code, json.loads(done.out)["ok"]) == (0, True), done
    cases.write_text('{"id": 1, "sls": ["a"]}\n{"id": 2, "sls": ["b"]}\n')
    done = saltern_process("compile", "--batch", str(cases), "--file-root", str(top / "s"))
    assert done.code == 4
    assert [json.loads(line)["ok"] for line in done.out.splitlines()] == [True, False]


def test_a_compile_that_never_ends(saltern, folder):
    top = folder({"s/a.sls": "#!py\nimport time\n\ndef run():\n    time.sleep(600)\n"})
    done = saltern("compile", "a", "--file-root", str(top / "s"), "--timeout", "1")
    assert done.code == 4
    assert "more than 1 s" in done.err


@pytest.fixture
def with_remotes(tmp_path, make_repository):
    """The folder of a configuration with a remote of states, one of a formula and one of pillar."""
    make_repository("states").commit({"top.sls": "base: {'*': [web]}\n", "web.sls": "include: [nginx]\n"})
    formula = "nginx: {test.nop: [{port: {{ pillar['port'] }} }]}\nx: {git.latest: []}\n"
    make_repository("formula").commit({"nginx.sls": formula})
    make_repository("pillar").commit({"top.sls": "base: {'*': [ports]}\n", "ports.sls": "port: 8080\n"})
    folder = tmp_path / "remotes"
    folder.mkdir()
    (folder / "controller").write_text(
        f"root_dir: {tmp_path}/root\ngitfs_base: main\ngitfs_remotes: [{tmp_path}/states, {tmp_path}/formula]\n"
        f"ext_pillar: [{{git: ['main {tmp_path}/pillar']}}]\n"
    )
    return folder


def test_the_remotes_of_a_configuration_are_compiled(saltern, with_remotes):
    done = saltern("compile", "-c", str(with_remotes), "--out", "json")
    assert done.code == 0, done.err
    assert [(low["__sls__"], low.get("port")) for low in json.loads(done.out)] == [("nginx", 8080), ("nginx", None)]


def test_what_is_included_from_the_remotes_of_a_configuration_is_found(saltern, with_remotes, tmp_path):
    alone = saltern("lint", str(tmp_path / "states"))
    assert "nginx" in alone.out
    assert alone.code == 1
    done = saltern("lint", str(tmp_path / "states"), "-c", str(with_remotes))
    assert (done.out, done.code) == ("", 0), "a formula's own faults are not told"
