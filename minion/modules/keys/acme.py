"""The execution module `acme`: certificates that certbot gets.

Behaviour: saltext.acme.modules.acme.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from minion.arguments.types import AnyValue, Mode, Owner, Texts, Unsupported, Value
from minion.execution.context import Context
from minion.machine.failure import StateFailed
from minion.providers import acme
from minion.providers.acme import AcmeOptions
from minion.states.file.paths import behind

_OldChallenge = Annotated[
    Value, Unsupported("servers have no challenge tls-sni-01 any more; use http-01 or a DNS plugin")
]


def cert(
    context: Context,
    name: str,
    aliases: Texts = (),
    *,
    options: AcmeOptions,
    renew: AnyValue = None,
    owner: Owner = "root",
    group: Owner = "root",
    mode: Mode = "0640",
    certname: str | None = None,
    tls_sni_01_port: _OldChallenge = None,
    tls_sni_01_address: _OldChallenge = None,
) -> dict[str, Any]:
    """Get a certificate, or renew it where it is due."""
    machine, kept = context.machine, certname or name
    renewing = acme.is_there(machine, kept) and needs_renewal(context, kept, renew)
    try:
        acted = acme.obtain(machine, kept, acme.words(name, kept, aliases, options), renewing=renewing)
    except StateFailed as error:
        return {"result": False, "comment": str(error)}
    key, _ = behind(machine, acme.file_of(kept, "privkey"))
    machine.chown(key, owner, group)
    machine.chmod(key, mode)
    done = f"Certificate {kept} {'renewed' if renewing else 'obtained'}"
    comment = done if acted else f"Certificate {acme.file_of(kept, 'cert')} unchanged"
    return {"result": True if acted else None, "comment": comment, "not_after": expires(context, kept), "changes": {}}


def certs(context: Context) -> list[str]:
    """Names of the certificates that certbot has."""
    return acme.names(context.machine)


def has(context: Context, name: str) -> bool:
    """Whether certbot has this certificate."""
    return acme.is_there(context.machine, name)


def info(context: Context, name: str) -> dict[str, Any]:
    """What is in a certificate, as x509.read_certificate has it; empty where there is none."""
    if not acme.is_there(context.machine, name):
        return {}
    found: dict[str, Any] = context.functions["x509.read_certificate"](acme.file_of(name, "cert"))
    return found


def expires(context: Context, name: str) -> str:
    """When a certificate ends, in the time of this machine."""
    return renew_by(context, name)


def renew_by(context: Context, name: str, window: AnyValue = None) -> str:
    """When a certificate is to be renewed: this number of days before its end."""
    moment = acme.renewed_by(acme.certificate(context.machine, name), acme.window_of(window))
    return _local(moment)


def needs_renewal(context: Context, name: str, window: AnyValue = None) -> bool:
    """Whether a certificate is to be renewed by now; true or `force`: always."""
    if window and acme.is_forced(window):
        return True
    return acme.due(acme.certificate(context.machine, name), acme.window_of(window))


def _local(moment: datetime) -> str:
    return moment.astimezone().replace(tzinfo=None).isoformat()


FUNCTIONS = {
    "cert": cert,
    "certs": certs,
    "expires": expires,
    "has": has,
    "info": info,
    "needs_renewal": needs_renewal,
    "renew_by": renew_by,
}
