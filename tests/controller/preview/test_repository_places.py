"""Annotations stand on paths of the pull request's repository, not on those of the trees."""

from __future__ import annotations

import pygit2
import pytest

from controller.preview.repository_places import RepositoryPlaces
from gitfs.tree.git_layer import GitLayer
from gitfs.tree.snapshot import Snapshot
from highstate.types import Pos, Stage

WHO = pygit2.Signature("A Writer", "a@example.org", 0, 0)


class Repository:
    def __init__(self, folder):
        self.git = pygit2.init_repository(str(folder), bare=True)

    def commit(self, files):
        index = pygit2.Index()
        for path, text in files.items():
            index.add(pygit2.IndexEntry(path, self.git.create_blob(text.encode()), 0o100644))
        tree = index.write_tree(self.git)
        return str(self.git.create_commit(None, WHO, WHO, "A commit", tree, []))

    def layer(self, commit, root="", mountpoint="", remote="states"):
        return GitLayer.of(self.git.path, remote, commit, root, mountpoint)


def trees(*layers):
    return Snapshot(environments={"base": layers})


@pytest.fixture
def places(tmp_path):
    """States below `srv/salt`, shown below `web`; pillar below `pillar`; another repository, which does not move."""
    own, other = Repository(tmp_path / "own"), Repository(tmp_path / "other")
    first = own.commit({"srv/salt/init.sls": "a: 1", "srv/salt/users.sls": "", "pillar/web/users.sls": "u: 1"})
    head = own.commit({"srv/salt/init.sls": "a: 2", "srv/salt/users.sls": "", "pillar/web/users.sls": "u: ["})
    apart = other.commit({"apps.sls": "", "web/init.sls": ""})
    states = [trees(own.layer(each, "srv/salt", "web"), other.layer(apart, remote="apps")) for each in (first, head)]
    pillars = [trees(own.layer(each, "pillar", remote="pillar")) for each in (first, head)]
    return RepositoryPlaces(tuple(states), tuple(pillars), {"states": head, "pillar": head})


def test_root_and_mountpoint(places):
    assert places.of_problem(Pos(file="web/init.sls", line=7)) == "srv/salt/init.sls:7"
    assert places.of_problem(Pos(file="web/init.sls", line=7, template_line=3)) == "srv/salt/init.sls:3"
    assert places.of_state("web/init.sls", "base", 4) == "srv/salt/init.sls:4"


def test_the_file_of_the_pillar(places):
    pillar = Pos(file="web/users.sls", line=1, stage=Stage.PILLAR)
    assert places.of_problem(pillar) == "pillar/web/users.sls:1"
    rendered = Pos(file="web/users.sls", line=1, stage=Stage.YAML)
    assert places.of_problem(rendered) == "pillar/web/users.sls:1", "that of the states is not touched"


@pytest.mark.parametrize("file", ["apps.sls", "none.sls", "ext_pillar"])
def test_what_is_not_of_the_repository_that_moves(places, file):
    assert places.of_problem(Pos(file=file, line=1)) == ""


def test_without_a_line_there_is_no_place(places):
    assert places.of_problem(Pos(file="web/init.sls")) == ""
    assert places.of_state("web/init.sls", "base", 0) == ""
    assert places.of_state("web/init.sls", "dev", 1) == ""
