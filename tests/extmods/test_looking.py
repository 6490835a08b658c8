"""What may be called on a minion in shadow."""

import pytest

from extmods.looking import only_looks


@pytest.mark.parametrize(
    ("fun", "kwargs"),
    [
        ("test.ping", {}),
        ("grains.items", {}),
        ("pkg.version", {}),
        ("state.show_lowstate", {}),
        ("state.test", {}),
        ("state.apply", {"test": True}),
        ("state.single", {"test": True}),
    ],
)
def test_what_looks_may_be_called(fun, kwargs):
    assert only_looks(fun, kwargs)


@pytest.mark.parametrize(
    ("fun", "kwargs"),
    [
        ("cmd.run", {}),
        ("cmd.run", {"test": True}),
        ("state.apply", {}),
        ("state.apply", {"test": False}),
        ("state.apply", {"test": 1}),
        ("state.apply", {"test": "True"}),
        ("state.high", {"test": True}),
        ("state.template_str", {"test": True}),
        ("file.write", {}),
        ("saltutil.sync_all", {}),
        ("grains.setval", {}),
        ("state", {}),
        ("", {}),
    ],
)
def test_what_may_change_something_may_not(fun, kwargs):
    assert not only_looks(fun, kwargs)
