"""Trees in memory: an edit is a tree of its own."""

from highstate.files import MemoryFiles, blob_id


def test_an_edited_tree_differs_in_one_file():
    tree = MemoryFiles({"base": {"a": b"1", "b": b"2"}, "dev": {"a": b"3"}})
    before = tree.digest
    edited = tree.edited("a", b"4")
    assert (edited.read("a"), edited.read("b"), edited.read("a", "dev")) == (b"4", b"2", b"3")
    assert edited.oid("a") == blob_id(b"4")
    assert edited.oid("b") == tree.oid("b")
    assert edited == MemoryFiles({"base": {"a": b"4", "b": b"2"}, "dev": {"a": b"3"}})
    assert edited.digest != before == tree.digest
    assert tree.edited("c", b"5", "dev").oid("c", "dev") == blob_id(b"5")
