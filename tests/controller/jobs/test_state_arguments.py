"""Which calls are compiled on the controller, and what is taken of their arguments."""

import pytest

from controller.config.limits import StateCallLimits
from controller.jobs.state_arguments import state_call
from controller.schema.errors import ServiceError

LIMITS = StateCallLimits(pillar_bytes=200, pillar_depth=5, names=3, name_characters=20)


def parsed(fun, *args, **kwargs):
    return state_call(fun, args, kwargs, LIMITS)


@pytest.mark.parametrize(
    ("fun", "args", "kwargs"),
    [
        ("test.ping", (), {}),
        ("state.apply", (), {}),
        ("state.apply", (), {"test": True, "queue": True, "exclude": "x"}),
        ("state.highstate", (), {"concurrent": True}),
        ("state.single", ("test.nop", "x"), {"pillar": {"a": 1}}),
        ("state.running", (), {}),
    ],
)
def test_what_a_minion_does_with_what_it_holds(fun, args, kwargs):
    assert parsed(fun, *args, **kwargs) is None


def test_names_of_sls_are_taken_as_salt_takes_them():
    for args, kwargs in [(("a,b",), {}), ((["a", "b"],), {}), ((), {"mods": "a, b"})]:
        assert parsed("state.apply", *args, **kwargs).question.mods == ("a", "b")
    assert parsed("state.sls_id", "one", "a").question.mods == ("a",)
    found = parsed("state.id_exists", "one,two", "a").question
    assert (found.ids, found.mods, found.shows) == (("one", "two"), ("a",), True)


def test_the_minion_is_not_given_what_was_compiled():
    call = parsed("state.sls", "a", pillar={"x": 1}, saltenv="dev", pillarenv="prod", test=True, queue=True)
    assert call.kwargs == {"test": True, "queue": True}
    assert (call.question.saltenv, call.question.pillar, call.options) == ("dev", {"x": 1}, {"pillarenv": "prod"})


def test_the_saltenv_of_a_highstate_is_that_of_its_top_file():
    call = parsed("state.highstate", saltenv="dev")
    assert (call.question.fun, call.question.mods, call.options) == ("highstate", None, {"saltenv": "dev"})
    assert parsed("state.top", "salt://tops/x.sls").options == {"state_top": "tops/x.sls"}


def test_texts_whose_names_say_that_they_are_secret():
    pillar = {"db": {"password": "a1"}, "tokens": ["b2", {"x": "c3"}], "word": "d4", "secret": 5}
    assert parsed("state.sls", "a", pillar=pillar).secrets == ("a1", "b2", "c3")


@pytest.mark.parametrize(
    ("fun", "args", "kwargs", "said"),
    [
        ("state.sls", (), {}, "needs the name of an SLS"),
        ("state.show_sls", (), {}, "needs the name of an SLS"),
        ("state.apply", ("a",), {"pillar": "text"}, "Pillar data must be formatted as a dictionary"),
        ("state.apply", ("a",), {"pillar": {"x": "y" * 300}}, "200 is the most"),
        ("state.apply", ("a",), {"pillar": {"x": [[[[[[1]]]]]]}}, "more than 5 levels"),
        ("state.apply", ("a,b,c,d",), {}, "3 names"),
        ("state.apply", ("a" * 30,), {}, "20 characters"),
        ("state.apply", ("a",), {"pillar_enc": "gpg"}, "pillar_enc= is not built"),
        ("state.apply", ("a",), {"saltenv": ["x"]}, "saltenv must be a text"),
        ("state.show_top", (), {"saltenf": "x"}, "no argument 'saltenf'"),
        ("state.top", (), {}, "topfn must be a text"),
    ],
)
def test_what_cannot_be_taken_is_refused(fun, args, kwargs, said):
    with pytest.raises(ServiceError, match=said.replace("(", r"\(")):
        parsed(fun, *args, **kwargs)
