"""Several remotes of pillar: each compiled by its own top file and merged, with what Salt 3008 gives for the same."""

import subprocess

import pytest

from gitfs.config.remotes import pillar_includes, pillar_remotes
from gitfs.source import Source
from highstate.compile import CompileOptions
from highstate.compile.compiler import Compilation
from highstate.files import MemoryFiles
from highstate.types import Minion

A = {
    "main": {
        "top.sls": "base: {'*': [x, common]}",
        "x.sls": "from: a\nonly_a: 1\nd: {k: a, l: [1]}",
        "common.sls": "com: a",
    },
    "dev": {"top.sls": "dev: {'*': [x]}", "x.sls": "from: adev\nonly_adev: 1"},
}
B = {
    "main": {
        "top.sls": "base: {'*': [y]}",
        "y.sls": "include: [common]\nfrom: b\nd: {k: b, l: [2]}",
        "common.sls": "com: b",
    }
}
C = {"main": {"z.sls": "from: c\nz: 1"}}
D = {"main": {"sub/top.sls": "base: {'*': [q]}", "sub/q.sls": "include: [common]\nfrom: d\nq: 1"}}
ROOTS = {"top.sls": "base: {'*': [r]}", "r.sls": "from: roots\nr: 1\nd: {k: r}"}
OF_A = {"from": "a", "only_a": 1, "d": {"k": "a", "l": [1]}, "com": "a"}
OF_BOTH = {"from": "b", "only_a": 1, "d": {"k": "b", "l": [2]}, "com": "b"}


@pytest.fixture(scope="module")
def remotes(tmp_path_factory):
    home = tmp_path_factory.mktemp("remotes")
    found = {}
    for name, branches in {"a": A, "b": B, "c": C, "d": D}.items():
        folder = home / name

        def git(*arguments, folder=folder):
            who = ("-c", "user.name=Operator", "-c", "user.email=operator@example.org")
            subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)

        folder.mkdir()
        git("init", "-q", "-b", "main")
        for branch, files in branches.items():
            git("checkout", "-q", "--orphan", branch)
            git("rm", "-rfq", "--ignore-unmatch", ".")
            for path, text in files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text)
            git("add", "-A")
            git("commit", "-qm", "x")
        git("checkout", "-q", "main")
        found[name] = f"file://{folder}"
    return found


def bench(remotes, tmp_path, entries, *, roots=None, settings=None, **options):
    git = [
        {text.format(**remotes): given} if given else text.format(**remotes)
        for text, given in ((entry, None) if isinstance(entry, str) else entry for entry in entries)
    ]
    config = {"ext_pillar": [{"git": git}], **options}
    for path, text in (roots or {}).items():
        (tmp_path / "roots").mkdir(exist_ok=True)
        (tmp_path / "roots" / path).write_text(text)
    folders = {"base": [str(tmp_path / "roots")]} if roots else None
    includes = pillar_includes(config)
    with Source([], pillar_remotes(config), tmp_path / "cache", None, folders, pillar_includes=includes) as source:
        source.fetch(patience=60)
        files = source.live().pillar
    minion = Minion(id="m1", grains={"id": "m1"})
    return Compilation(files=MemoryFiles({}), pillar_files=files, minion=minion, settings=settings or CompileOptions())


def pillar(*arguments, **named):
    result = bench(*arguments, **named).pillar()
    assert not result.errors, result.errors
    return dict(result.pillar)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (["main {a}"], OF_A),
        (["main {a}", "main {b}"], OF_BOTH),
        (["main {b}", "main {a}"], OF_A),
        (["main {a}", "main {c}"], OF_A),
        (["main {c}", "main {a}"], OF_A),
        (["main {a}", ("dev {a}", [{"env": "dev"}])], {**OF_A, "from": "adev", "only_adev": 1}),
        (["main {a}", ("main {d}", [{"root": "sub"}])], {**OF_A, "from": "d", "q": 1}),
        (["main {a}", ("main {c}", [{"mountpoint": "web"}])], OF_A),
    ],
)
def test_each_remote_by_its_own_top_file_then_merged(remotes, tmp_path, entries, expected):
    assert pillar(remotes, tmp_path, entries) == expected


def test_folders_come_first_and_remotes_over_them(remotes, tmp_path):
    both = ["main {a}", "main {b}"]
    assert pillar(remotes, tmp_path, both, roots=ROOTS) == {**OF_BOTH, "r": 1}
    first = CompileOptions(ext_pillar_first=True, ext_pillar=({"git": []},))
    found = pillar(remotes, tmp_path, both, roots=ROOTS, settings=first)
    assert (found["from"], found["d"]) == ("roots", {"k": "r", "l": [2]})


def test_strategies_merge_the_remotes_too(remotes, tmp_path):
    both = ["main {a}", "main {b}"]
    lists = pillar(remotes, tmp_path, both, settings=CompileOptions(pillar_merge_lists=True))
    assert lists["d"] == {"k": "b", "l": [1, 2]}
    over = pillar(remotes, tmp_path, both, settings=CompileOptions(pillar_source_merging_strategy="overwrite"))
    assert over["d"] == {"k": "b", "l": [2]}


def test_includes_see_the_other_remotes_unless_told_otherwise(remotes, tmp_path):
    entries = ["main {a}", ("main {d}", [{"root": "sub"}])]
    assert pillar(remotes, tmp_path, entries)["com"] == "a"
    result = bench(remotes, tmp_path, entries, git_pillar_includes=False).pillar()
    assert "'common' is not there" in str(result.errors[0])


def test_what_was_read_is_told_apart_by_the_part_that_it_is_of(remotes, tmp_path):
    from highstate.compile import compile_minion

    apart = bench(remotes, tmp_path / "two", ["main {a}", "main {b}"])
    alone = bench(remotes, tmp_path / "one", ["main {a}"])
    states = MemoryFiles({"base": {"top.sls": b"{}"}})
    done = [compile_minion(states, each.pillar_files, each.minion, each.settings) for each in (apart, alone)]
    read = [{tree for part in each.files for tree, *_ in part if tree != "files"} for each in done]
    assert read == [{"pillar/0", "pillar/1"}, {"pillar"}]


def test_another_order_of_remotes_is_another_tree(remotes, tmp_path):
    one = bench(remotes, tmp_path / "one", ["main {a}", "main {c}"]).pillar_files
    other = bench(remotes, tmp_path / "other", ["main {c}", "main {a}"]).pillar_files
    assert one.digest != other.digest
    assert one.digest != bench(remotes, tmp_path / "a", ["main {a}"]).pillar_files.digest
