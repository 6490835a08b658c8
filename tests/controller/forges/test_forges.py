"""Every kind of forge is found by its file, and says what the controller needs of it."""

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
