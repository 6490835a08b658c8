"""Links to reports: what was signed is admitted until it expires, and nothing else."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preview_reports import report

from controller.report.links import ReportLinks, link_key

LINKS = ReportLinks(address="https://saltern.example/x/", key=link_key(b"secret"), lifetime=100.0)
_URL = re.compile(r"https://saltern\.example/x/previews/(\w+)\?expires=(\d+)&signature=(\w+)")


def parts(url: str) -> tuple[str, str, str]:
    """Id, time, signature."""
    found = _URL.fullmatch(url)
    assert found is not None
    return found[1], found[2], found[3]


def test_a_link_is_admitted_until_it_expires() -> None:
    found = parts(LINKS.url("abc", 1000.0))
    assert LINKS.admits(*found, 1099.9)
    assert not LINKS.admits(*found, 1100.0)
    assert LINKS.url("abc", 1000.0) == LINKS.url("abc", 1000.0), "a comment with it stays the same"


def test_another_key_admits_nothing() -> None:
    other = ReportLinks(address="https://x", key=link_key(b"other"), lifetime=100.0)
    assert not other.admits(*parts(LINKS.url("abc", 1000.0)), 1000.0)


@pytest.mark.parametrize("place", [0, 1, 2])
@given(text=st.text(max_size=80), cut=st.integers(0, 63))
def test_a_part_that_was_changed_is_not_admitted(place: int, text: str, cut: int) -> None:
    right = list(parts(LINKS.url("abc", 1000.0)))
    for wrong in (text, right[place][:cut], right[place] + "0", right[place].upper() + "\u0130", "²", "-1", "9" * 400):
        if wrong != right[place]:
            assert not LINKS.admits(*right[:place], wrong, *right[place + 1 :], 1000.0)


def test_an_id_is_of_one_report_and_cannot_be_guessed() -> None:
    found = report()
    assert LINKS.id_of(found) == LINKS.id_of(msgspec.structs.replace(found))
    assert LINKS.id_of(found) != LINKS.id_of(msgspec.structs.replace(found, made_at=1.0))
    assert LINKS.id_of(found) != ReportLinks(address="", key=b"x", lifetime=1.0).id_of(found)


def test_without_an_address_there_are_no_links() -> None:
    assert ReportLinks(address="", key=b"x", lifetime=1.0).url("abc", 1.0) == ""
    assert "secret" not in repr(ReportLinks(address="", key=b"secret", lifetime=1.0))
