"""Every kind of forge is found by its file, and says what the controller needs of it."""

import re
from pathlib import Path

import pytest

from controller.forges.kind_names import KINDS
from controller.forges.registry import all_forges, forge_of
from controller.forges.webhooks import SENDERS


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_says_what_is_needed_of_it(kind):
    webhooks = forge_of(kind).webhooks
    assert webhooks.verifiers
    headers = (*webhooks.delivery_headers, *webhooks.marks, *(webhooks.ping or ())[:1])
    assert all(header == header.lower() for header in headers)


def test_no_two_share_a_name_or_a_delivery_header():
    assert len({forge.name for forge in all_forges().values()}) == len(KINDS)
    headers = [header for sender in SENDERS.values() for header in sender.delivery_headers]
    assert len(headers) == len(set(headers))


@pytest.mark.parametrize("api", ["https://x.org:7990/bb/rest", "http://[::1]:7990/bb/rest"])
def test_where_the_repositories_lie_has_the_port(api):
    assert forge_of("bitbucket-datacenter").addresses.web_of(api).geturl() == api.removesuffix("/rest")


ROOM = Path(__file__).parents[3] / "controller"
OF_FORGES = ("forges", "config", "composition", "pull_requests", "offline", "api", "observe")


def test_only_its_own_module_names_a_kind():
    named = re.compile("|".join(f"[\"']{kind}[\"']" for kind in KINDS))
    files = [path for folder in OF_FORGES for path in (ROOM / folder).rglob("*.py") if path.parent.name != "kinds"]
    assert len(files) > 50
    assert [path.name for path in files if named.search(path.read_text())] == []
