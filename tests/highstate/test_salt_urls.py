from __future__ import annotations

import pytest

from highstate.salt_urls import split_salt_url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        # As `salt.utils.url` of Salt 3008.3 has them: unescape(parse(url)[0]), and the saltenv.
        ("salt://files/odd", ("files/odd", "base")),
        ("salt://files/odd?saltenv=dev", ("files/odd", "dev")),
        ("salt://|files/odd?saltenv=dev", ("files/odd", "dev")),
        ("salt://|files/odd?x", ("files/odd?x", "base")),
        ("salt://files/odd?x=1&y", ("files/odd?x=1&y", "base")),
        ("salt://files/odd?x?saltenv=dev", ("files/odd?x", "dev")),
        ("salt://files/odd?env=dev", ("files/odd", "base")),
        ("salt://files/odd?saltenv=", ("files/odd", "base")),
        ("salt:///files/odd", ("files/odd", "base")),
        ("salt://||files|odd", ("files|odd", "base")),
        ("salt://folder/", ("folder", "base")),
        ("files/odd", ("files/odd", "base")),
        ("salt://files//odd", ("files/odd", "base")),  # as `roots.find_file` looks for it
        ("salt://./files/./odd", ("files/odd", "base")),
        ("salt://files./odd", ("files./odd", "base")),
    ],
)
def test_a_url_is_read_as_salt_reads_it(url, expected):
    assert split_salt_url(url, "base") == expected
