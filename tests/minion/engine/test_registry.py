"""The state functions that there are."""

from importlib import resources

from minion.engine import registry


def test_the_compile_knows_every_state_function():
    known = resources.files("highstate.lint").joinpath("saltern_states.txt").read_text().split()
    assert known == registry.names(), "python -m tools.docs.state_names writes them"
