"""Every forge that has a module is in the table, and says what the controller needs of it."""

import importlib
import pkgutil

import pytest

import controller.forges as forges

MODULES = [
    found.name
    for found in pkgutil.iter_modules(forges.__path__)
    if found.name not in ("client", "clients", "forge", "webhooks")
]


@pytest.mark.parametrize("module", MODULES)
def test_each_module_is_in_the_table(module):
    forge = importlib.import_module(f"controller.forges.{module}").FORGE
    assert forge in forges.FORGES
    assert forge.verifiers
    headers = (*forge.delivery_headers, *(forge.ping or ())[:1])
    assert all(header == header.lower() for header in headers)


def test_no_two_forges_share_a_delivery_header():
    headers = [header for forge in forges.FORGES for header in forge.delivery_headers]
    assert len(headers) == len(set(headers))
