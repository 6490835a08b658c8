"""x509.certificate_managed: a certificate that is issued when it lacks, is another than it is to be, or ends soon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cryptography import x509

from minion.machine.failure import StateFailed
from minion.machine.functions import KnownFunctions
from minion.machine.plan import Machine, Reader, Value
from minion.providers.x509.certificates import (
    WantedCertificate,
    Wrapping,
    differences,
    encode,
    ended,
    issued,
    now_utc,
    wanted_certificate,
)
from minion.providers.x509.copies import keep_copy
from minion.providers.x509.loading import (
    Malformed,
    PassphraseMissing,
    WrongPassphrase,
    load_certificate,
    load_private_key,
)
from minion.providers.x509.policies import local_policy, merged
from minion.states.x509.arguments import Container
from minion.states.x509.documents import Looked

_AROUND = frozenset({"additional_certs", "encoding", "pkcs12_friendlyname"})
"""Changes for which no certificate has to be issued."""
_LONG, _SHORT = 90, 7
"""Days before its end that a certificate is renewed: Salt's default, and that of Salt 3009 for those of fewer days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """What the state asks for."""

    given: Mapping[str, Value]
    """Arguments of x509.create_certificate."""
    policy: str | None
    ca_server: str | None
    container: Container
    days_remaining: float | None
    functions: KnownFunctions

    def wanted(self, machine: Reader) -> WantedCertificate:
        """The certificate as it is to be, by what the authority says."""
        if self.ca_server is None:
            policy = local_policy(machine.pillar, machine.opts, self.policy)
        else:
            policy = self.functions.look("x509.get_signing_policy", (self.policy,), {"ca_server": self.ca_server})
        return wanted_certificate(machine, merged(policy, self.given), elsewhere=self.ca_server is not None)

    def wrapping(self, machine: Reader, wanted: WantedCertificate | None = None) -> Wrapping:
        """How it is encoded."""
        appended = tuple(load_certificate(machine, one).certificate for one in self.container.append_certs)
        how = Wrapping(
            encoding=self.container.encoding,
            appended=appended,
            private_key=self._own_key(machine, wanted) if self.container.encoding == "pkcs12" else None,
            passphrase=self.container.pkcs12_passphrase,
            compatible=self.container.pkcs12_encryption_compat,
            friendly_name=self.container.pkcs12_friendlyname,
        )
        how.check()
        return how

    def _own_key(self, machine: Reader, wanted: WantedCertificate | None) -> Any:
        if wanted is not None and wanted.private_key is not None:
            return wanted.private_key
        if not self.given.get("private_key"):
            return None
        return load_private_key(machine, self.given["private_key"], self.given.get("private_key_passphrase")).key

    def renewal(self, wanted: WantedCertificate, now: datetime) -> float:
        """How many days before its end a certificate is renewed; StateFailed where a new one would be at once."""
        whole = (wanted.ends(now) - now).total_seconds() / 86400
        days = self.days_remaining
        if days is None:
            days = _LONG if whole > _LONG else _SHORT
        if whole <= days:
            raise StateFailed(
                f"a new certificate would be valid for {whole:g} days, and would be renewed at once: days_remaining is "
                f"{days:g}; it has to be less"
            )
        return days


def look(machine: Reader, issue: Issue, path: str, name: str) -> Looked:
    """What is to be another in the certificate that is there."""
    wanted = issue.wanted(machine)
    now = now_utc()
    days = issue.renewal(wanted, now)
    how = issue.wrapping(machine, wanted)
    try:
        current = load_certificate(machine, path, issue.container.pkcs12_passphrase)
    except (WrongPassphrase, PassphraseMissing):
        return Looked(changes={"pkcs12_passphrase": True}, known=False)
    except Malformed:
        return Looked(changes={"replaced": name}, known=False)
    changes: dict[str, Value] = how.differences(current)
    if ended(current.certificate, now, days):
        changes["expiration"] = True
    return Looked(changes={**changes, **differences(current.certificate, wanted)})


def make(machine: Machine, issue: Issue, path: str, looked: Looked) -> bytes:
    """The content of the file: what is there in another form, or a certificate that is issued for it."""
    if looked.known and not set(looked.changes) - _AROUND:
        there = load_certificate(machine, path, issue.container.pkcs12_passphrase)
        return encode(there.certificate, issue.wrapping(machine))
    if issue.ca_server is not None:
        return encode(_from_authority(machine, issue), issue.wrapping(machine))
    wanted = issue.wanted(machine)
    now = now_utc()
    issue.renewal(wanted, now)
    how = issue.wrapping(machine, wanted)
    certificate = issued(wanted, now)
    rules = merged(local_policy(machine.pillar, machine.opts, issue.policy), issue.given)
    keep_copy(machine, certificate, rules)
    return encode(certificate, how)


def _from_authority(machine: Machine, issue: Issue) -> x509.Certificate:
    if not issue.policy:
        raise StateFailed("signing_policy must be specified to request a certificate from a remote ca_server")
    issue.renewal(issue.wanted(machine), now_utc())
    given = {key: value for key, value in issue.given.items() if value is not None}
    asked = {**given, "ca_server": issue.ca_server, "signing_policy": issue.policy}
    return load_certificate(machine, issue.functions.call("x509.create_certificate", (), asked)).certificate
