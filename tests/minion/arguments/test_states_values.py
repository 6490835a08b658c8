"""Arguments of states whose values have a form of their own become it at the border."""

import pytest

from minion.arguments.types import Unfit
from minion.states.debconf import as_answers
from minion.states.ini import as_ini_keys, as_ini_options, as_section_names


def test_options_of_a_file_in_sections():
    given = {"a": {"k": 1, "on": True}, "top": 2}
    assert as_ini_options(given) == {"a": {"k": "1", "on": "True"}, "": {"top": "2"}}
    assert as_ini_options(None) == {}
    assert as_ini_keys({"a": ["k", 2], "top": None}) == (("a", "k"), ("a", "2"), ("", "top"))
    assert as_section_names({"a": 1, 2: None}) == as_section_names(["a", 2]) == ("a", "2")
    for convert, bad in ((as_ini_options, ["a"]), (as_ini_keys, "a"), (as_section_names, "a"), (as_section_names, 5)):
        with pytest.raises(Unfit):
            convert(bad)


def test_answers_of_packages():
    given = {"q/one": {"type": "boolean", "value": True}, "q/two": {"value": None}, 3: {"value": 4}}
    assert as_answers(given) == {"q/one": ("boolean", "true"), "q/two": ("string", ""), "3": ("string", "4")}
    for bad in (None, [], {"q": "yes"}):
        with pytest.raises(Unfit, match="questions"):
            as_answers(bad)
