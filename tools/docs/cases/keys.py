"""Cases of the states of GnuPG, in a keyring of their own; certbot's has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.docs.cases.case import BESIDE, Case

_KEY = """-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEawqibhYJKwYBBAHaRw8BAQdAC8Nczhm9UdLHuXdsHrpmKmKxrKhAlPJVL7gp
JYUTMQ+0F0Nhc2UgPGNhc2VAZXhhbXBsZS5vcmc+iJAEExYIADgWIQTG91n/mFL7
8GZ+F2TnDvk7NQnwnwUCawqibgIbAwULCQgHAgYVCgkICwIEFgIDAQIeAQIXgAAK
CRDnDvk7NQnwn/PPAP9Cvqu3rBpamqpMroVHYFVD48I4LYl3AIB5X3j/KIT79QD+
L8bMrsjspaNxL+C3pmlNRER1pmnwnG0ei4qPJ56hwQ4=
=b3cl
-----END PGP PUBLIC KEY BLOCK-----
"""
_ID = "E70EF93B3509F09F"
_RING = f"{BESIDE}/ring"
_IMPORTED = f"gpg --homedir {_RING} --batch -q --import {{top}}/key"


def _gpg(fun: str, *commands: str, **arguments: Any) -> Case:
    return Case(
        fun=f"gpg.{fun}",
        name=_ID,
        arguments={**arguments, "gnupghome": _RING},
        files={"key": _KEY},
        before=(f"mkdir -m 700 {_RING}", *commands),
        after=(f"gpgconf --homedir {_RING} --kill all",),
        needs=("gnupg",),
    )


CASES: tuple[Case, ...] = (
    _gpg("present", source="{top}/key", skip_keyserver=True),
    _gpg("present", text=_KEY, skip_keyserver=True, trust="ultimately"),
    _gpg("present", _IMPORTED),
    _gpg("absent", _IMPORTED),
)
WITHOUT: Mapping[str, str] = {"acme.cert": "tried with certbot and an ACME server of the tests"}
