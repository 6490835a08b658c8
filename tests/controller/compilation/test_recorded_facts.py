"""The facts of one minion for its compile: what may be asked, what is noted, what never can be answered."""

import pytest

from controller.compilation.recorded_facts import MinionFacts


@pytest.mark.parametrize("fun", ["cp.cache_file", "cp.get_file", "cp.cache_dir"])
def test_what_copies_files_of_the_tree_is_never_asked(fun):
    """The minion would answer from the revision that it has, whatever policy allows."""
    facts = MinionFacts({}, ["*"])
    assert "cp.get_file_str" in facts.answer(fun, ["salt://a"], {}).error
    assert not facts.unanswered


def test_what_policy_allows_is_noted_until_it_is_answered():
    facts = MinionFacts({}, ["cmd.run"])
    assert facts.answer("cmd.run", ["id"], {}).error == "has no answer of it yet"
    assert [asked.fun for asked in facts.unanswered] == ["cmd.run"]
    assert "`facts` in saltern.yaml" in facts.answer("cmd.run_all", ["id"], {}).error
