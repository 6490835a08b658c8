"""A shipped tree answers as the tree that it was made of, and asks for each content once."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field

import pytest

from controller.compilation.cluster import shipped_files
from controller.compilation.cluster.contents import ContentStore
from controller.compilation.cluster.shipped_files import ContentQuestion, content_of, shipped, take_contents_from
from controller.compilation.cluster.tree_shipping import TreeShipping
from highstate.files import MemoryFiles, parts_of

TREE = MemoryFiles(
    {
        "base": {"top.sls": b"base: {}", "app/init.sls": b"x", "app/deep/b.txt": b"b", "app0": b"0", "copy.sls": b"x"},
        "dev": {"only.sls": b"dev"},
    },
    symlinks={"base": {"app/deep/b.txt": "../b.txt"}},
)
EMPTY = MemoryFiles({"base": {}})


@dataclass(frozen=True)
class SeveralTrees:
    """A pillar whose trees are compiled by themselves, as several git_pillar remotes are."""

    inner: tuple[MemoryFiles, ...]

    def parts(self, *, folders_last=False):
        return [*self.inner[1:], self.inner[0]] if folders_last else list(self.inner)

    def __getattr__(self, name):
        return getattr(self.inner[0], name)


@dataclass
class Asked:
    """Answers as the controller does."""

    files: object
    pillar: object = EMPTY
    questions: list[ContentQuestion] = field(default_factory=list)

    def content(self, question):
        self.questions.append(question)
        for tree, files in (("files", self.files), ("pillar", self.pillar)):
            if (listing := shipped(tree, files).listings.get(question.key)) is not None:
                return listing
        return content_of(self.files, self.pillar, question)


@pytest.fixture(autouse=True)
def _fresh():
    shipped_files._contents.clear()
    shipped_files._open.cache_clear()
    yield
    shipped_files._sources.clear()


def sent(tree, files):
    return pickle.loads(pickle.dumps(shipped(tree, files).files))


def test_it_answers_as_the_tree():
    asked = Asked(TREE)
    take_contents_from(asked)
    copy = sent("files", TREE)
    assert copy.digest == TREE.digest
    assert list(copy.saltenvs()) == list(TREE.saltenvs())
    for saltenv in (*TREE.saltenvs(), "nowhere"):
        for prefix in ("", "app", "app/", "app/deep/b.txt", "nothing"):
            assert list(copy.list(prefix, saltenv)) == list(TREE.list(prefix, saltenv)), (saltenv, prefix)
            assert dict(copy.links(prefix, saltenv)) == dict(TREE.links(prefix, saltenv)), (saltenv, prefix)
        for path in ("top.sls", "app/init.sls", "only.sls", "app", "nothing"):
            assert copy.oid(path, saltenv) == TREE.oid(path, saltenv)
            assert copy.mode(path, saltenv) == TREE.mode(path, saltenv)
    assert copy.read("app/deep/b.txt") == b"b"
    assert (copy.read("app/init.sls"), copy.read("copy.sls")) == (b"x", b"x")
    contents = [question for question in asked.questions if question.tree]
    assert [question.path for question in contents] == ["app/deep/b.txt", "app/init.sls"], "equal contents are one"


@pytest.mark.parametrize("path", ["../etc/passwd", "/etc/passwd", "nothing", "app"])
def test_what_is_no_file_is_not_there(path):
    take_contents_from(Asked(TREE))
    with pytest.raises(FileNotFoundError):
        sent("files", TREE).read(path)


def test_trees_that_are_compiled_by_themselves_keep_their_names_and_order():
    pillar = SeveralTrees(tuple(MemoryFiles({"base": {"a.sls": name, "top.sls": b""}}) for name in (b"0", b"1", b"2")))
    take_contents_from(Asked(EMPTY, pillar))
    copy = sent("pillar", pillar)
    for folders_last in (False, True):
        wanted = {name: part.read("a.sls") for name, part in parts_of(pillar, folders_last=folders_last).items()}
        found = {name: part.read("a.sls") for name, part in parts_of(copy, folders_last=folders_last).items()}
        assert list(found.items()) == list(wanted.items())


def test_nothing_but_what_is_in_the_tree_is_given():
    good = ContentQuestion(key=TREE.oid("top.sls"), tree="files", saltenv="base", path="top.sls")
    assert content_of(TREE, EMPTY, good) == b"base: {}"
    for change in ({"key": "0" * 40}, {"path": "../x"}, {"tree": "store"}, {"saltenv": "prod"}):
        bad = {"key": good.key, "tree": "files", "saltenv": "base", "path": "top.sls"} | change
        with pytest.raises((OSError, ValueError)):
            content_of(TREE, EMPTY, ContentQuestion(**bad))


def test_what_was_asked_for_is_sent_unasked_next_time():
    shipping = TreeShipping()
    first = shipping.contents("files", TREE, set())
    assert b"b" not in first.values(), "a .txt is not known to be read"
    assert {b"base: {}", b"x"} <= set(first.values())
    question = ContentQuestion(key="-", tree="files", saltenv="base", path="app/deep/b.txt")
    shipping.asked_for(question)
    again = shipping.contents("files", TREE, set())
    assert b"b" in again.values()
    assert shipping.contents("files", TREE, again.keys()) == {}


def test_a_worker_keeps_what_was_used_last_within_a_bound():
    store = ContentStore(most_bytes=10)
    store.put({"a": b"1234", "b": b"5678"})
    assert store.get("a") == b"1234"
    store.put({"c": b"9012", "large": b"x" * 11})
    assert [store.get(key) for key in ("a", "b", "c", "large")] == [b"1234", None, b"9012", None]
    assert ContentStore().name != ContentStore().name
