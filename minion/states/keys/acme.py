"""The state module `acme`: certificates of an ACME server, which certbot gets and renews.

Behaviour: saltext.acme.states.acme.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from minion.arguments.types import AnyValue, Mode, Owner, Texts, Unsupported, Value
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers import acme
from minion.providers.acme import AcmeOptions
from minion.states.file.paths import behind

_OldChallenge = Annotated[
    Value, Unsupported("servers have no challenge tls-sni-01 any more; use http-01 or a DNS plugin")
]


def cert(
    machine: Reader,
    name: str,
    *,
    aliases: Texts = (),
    renew: AnyValue = None,
    certname: str | None = None,
    options: AcmeOptions,
    owner: Owner = "root",
    group: Owner = "root",
    mode: Mode = "0640",
    tls_sni_01_port: _OldChallenge = None,
    tls_sni_01_address: _OldChallenge = None,
) -> Plan:
    """There is a certificate for this host and its aliases; `renew` days before its end it is got anew."""
    kept = certname or name
    argv = acme.words(name, kept, aliases, options)
    if acme.is_forced(renew):
        raise StateFailed("renew: it would be renewed on each run; give a number of days before its end")
    window, renewing = acme.window_of(renew), False
    if acme.is_there(machine, kept):
        found = acme.certificate(machine, kept)
        renewing = acme.due(found, window)
        if not renewing and not acme.lacking(found, (name, *aliases)):
            return Plan(comment=f"Certificate {kept} exists and does not need renewal.")
        argv += [] if renewing else ["--expand"]
    acme.program()
    done = "renewed" if renewing else "obtained"

    def act(machine: Machine) -> None:
        if not acme.obtain(machine, kept, argv, renewing=renewing):
            raise StateFailed(f"Certificate {acme.file_of(kept, 'cert')} unchanged")
        key, _ = behind(machine, acme.file_of(kept, "privkey"))
        machine.chown(key, owner, group)
        machine.chmod(key, mode)

    return Plan(
        changes=(
            Change(key="old", reported="current certificate", act=act),
            Change(key="new", reported="new certificate", act=lambda machine: None),
        ),
        pending=f"Certificate {kept} would have been {done}.",
        done=f"Certificate {kept} {done}",
    )


STATES: Mapping[str, StateFunction] = {"cert": cert}
