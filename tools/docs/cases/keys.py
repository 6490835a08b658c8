"""States of certbot and GnuPG: none has a case."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

CASES: tuple[Case, ...] = ()
WITHOUT: Mapping[str, str] = {
    "acme.cert": "tried with certbot and an ACME server of the tests",
    "gpg.absent": "tried with gpg and a key server of the tests",
    "gpg.present": "tried with gpg and a key server of the tests",
}
