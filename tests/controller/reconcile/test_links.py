"""Links of documents: those of documents that are alike are found once, and are those of each of them."""

import pytest

from controller.reconcile.links import LinkFinder, links_of
from highstate.desired import chunk_keys
from highstate.types import Chunk


def document(**more):
    """Chunks in which each kind of link is; `more`: arguments of one of them."""
    chunks = [
        Chunk(state="pkg", fun="installed", id="web", name="web", sls="a", arguments={"pkgs": ["nginx", "curl"]}),
        Chunk(state="file", fun="accumulated", id="more", name="more", sls="a", arguments={"filename": "/etc/web"}),
        Chunk(
            state="file",
            fun="managed",
            id="conf",
            name="/etc/web",
            sls="a",
            arguments={"contents": "x", "require": [{"pkg": "web"}], "__sls_included_from__": ["top"], **more},
        ),
        Chunk(state="file", fun="copy", id="copied", name="/srv/web", sls="b", arguments={"source": "/etc/web"}),
        Chunk(state="cmd", fun="run", id="make", name="make /srv/made", sls="b", arguments={"onlyif": "which nginx"}),
        Chunk(state="service", fun="running", id="web", name="web", sls="b", arguments={"watch": [{"file": "conf"}]}),
        Chunk(state="test", fun="nop", id="last", name="last", sls="b", arguments={"require": [{"sls": "top"}]}),
    ]
    return chunk_keys(chunks)


def test_what_differs_by_minion_and_binds_nothing_has_the_links_of_another_minion():
    finder = LinkFinder()
    first = finder.links_of(document(contents="own of the first", user=1))
    assert finder.links_of(document(contents="own of the second", user=2)) is first
    assert first == links_of(document())
    package, text, file, *_, last = document()
    assert first.closure([last]) == (package, text, file, last)


@pytest.mark.parametrize(
    "more",
    [
        {"require": []},
        {"listen": [{"pkg": "web"}]},
        {"source": "/srv/web"},
        {"source": ["salt://x", "file:///srv/web"]},
        {"defaults": {"deep": [{"a": "/srv/web"}]}},
        {"unless": "test -f /srv/made"},
        {"onlyif": ["which nginx", {"fun": "file.file_exists", "path": "/srv/web"}]},
        {"target": "/srv/web"},
        {"__sls_included_from__": ["other"]},
    ],
)
def test_what_binds_a_state_gives_links_of_its_own(more):
    finder = LinkFinder()
    before = finder.links_of(document())
    found = finder.links_of(document(**more))
    assert found == links_of(document(**more)) != before
    assert finder.links_of(document()) is before


def test_a_finder_keeps_few_links_and_is_right_when_it_forgets(monkeypatch):
    monkeypatch.setattr("controller.reconcile.links._CHUNKS", 10)
    finder = LinkFinder()
    for number in [*range(20), *range(20)]:
        one = document(require=[{"pkg": "web"}, {"test": f"t{number}"}], unless=f"test -f /srv/{number}")
        assert finder.links_of(one) == links_of(one)
