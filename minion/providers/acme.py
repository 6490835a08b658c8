"""Certificates of an ACME server, by certbot: what is there, and the command that gets one.

Called by the state and the execution module `acme`. Behaviour: saltext.acme, and certbot(1).
"""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.x509.content import require_library

PROGRAMS = ("certbot", "letsencrypt", "certbot-auto", "letsencrypt-auto", "/opt/letsencrypt/letsencrypt-auto")
LIVE = "/etc/letsencrypt/live"
"""Where certbot has the newest of each certificate."""
_NAME = re.compile(r"[A-Za-z0-9_*][A-Za-z0-9_.*-]*")
_PLUGIN = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_FORCED = ("force", "true")


class AcmeOptions(NamedTuple):
    """How a certificate is asked for; what is not said is as cli.ini of certbot has it."""

    email: str | None = None
    webroot: bool | str | None = None
    """A folder that a web server of this machine serves, or true: as cli.ini says. Otherwise certbot listens itself."""
    test_cert: bool = False
    keysize: int | None = None
    server: str | None = None
    preferred_challenges: str | None = None
    http_01_port: int | None = None
    http_01_address: str | None = None
    dns_plugin: str | None = None
    dns_plugin_credentials: str | None = None
    manual_auth_hook: str | None = None
    manual_cleanup_hook: str | None = None


def file_of(name: str, kind: str) -> str:
    """Path of a file of a certificate: `cert`, `privkey`, `chain`, `fullchain`."""
    return posixpath.join(LIVE, checked(name), f"{kind}.pem")


def checked(name: str) -> str:
    """A name; StateFailed where it cannot be that of a certificate or a host."""
    if not _NAME.fullmatch(name):
        raise StateFailed(f"{name!r} is no name of a certificate")
    return name


def is_there(machine: Reader, name: str) -> bool:
    """Whether certbot has this certificate."""
    return machine.stat(file_of(name, "cert")) is not None


def names(machine: Reader) -> list[str]:
    """Those that certbot has."""
    if machine.stat(LIVE) is None:
        return []
    return [one for one in machine.listdir(LIVE) if machine.stat(posixpath.join(LIVE, one, "cert.pem")) is not None]


def certificate(machine: Reader, name: str) -> Any:
    """A certificate that is there, as the library has it."""
    require_library()
    from minion.providers.x509.loading import load_certificate

    return load_certificate(machine, machine.read(file_of(name, "cert"))).certificate


def renewed_by(found: Any, window: int | None) -> datetime:
    """When a certificate is to be renewed: this number of days before its end."""
    ends: datetime = found.not_valid_after_utc
    return ends - timedelta(days=window or 0)


def due(found: Any, window: int | None) -> bool:
    """Whether a certificate is to be renewed by now."""
    return renewed_by(found, window) <= datetime.now(UTC)


def lacking(found: Any, wanted: Sequence[str]) -> list[str]:
    """Names that a certificate does not have."""
    from cryptography import x509

    try:
        extension = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return list(wanted)
    there = {one.lower() for one in extension.get_values_for_type(x509.DNSName)}
    return [one for one in wanted if one.lower() not in there]


def window_of(renew: Any) -> int | None:
    """The days of `renew`; StateFailed for what is none. True: always."""
    if renew is None or renew is False or renew == "":
        return None
    if is_forced(renew):
        return None
    if isinstance(renew, int) or (isinstance(renew, str) and renew.isdigit()):
        return int(renew)
    raise StateFailed(
        'The argument "window", if provided, must be one of the following : True (boolean), "force" or "Force" (str) '
        "or a numerical value in days."
    )


def is_forced(renew: Any) -> bool:
    """Whether a certificate is to be renewed whatever its end."""
    return str(renew).lower() in _FORCED


def words(name: str, certname: str, aliases: Sequence[str], options: AcmeOptions) -> list[str]:
    """The arguments of certbot. StateFailed for what does not go together."""
    if options.test_cert and options.server:
        raise StateFailed("Use either server or test_cert, not both")
    given = ["certonly", "--non-interactive", "--agree-tos", "--cert-name", checked(certname)]
    given += ["--server", options.server] if options.server else []
    given += ["--test-cert"] if options.test_cert else []
    given += _authenticator(options)
    for option, value in (
        ("--email", options.email),
        ("--rsa-key-size", options.keysize),
        ("--preferred-challenges", options.preferred_challenges),
        ("--http-01-port", options.http_01_port),
        ("--http-01-address", options.http_01_address),
    ):
        given += [option, str(value)] if value else []
    if options.keysize:
        given += ["--key-type", "rsa"]
    for one in (name, *aliases):
        given += ["--domains", checked(one)]
    return given


def _authenticator(options: AcmeOptions) -> list[str]:
    """Who answers the challenges of the server."""
    if options.webroot:
        path = [] if options.webroot is True else ["--webroot-path", str(options.webroot)]
        return ["--authenticator", "webroot", *path]
    if options.dns_plugin:
        if not _PLUGIN.fullmatch(options.dns_plugin):
            raise StateFailed(f"DNS plugin '{options.dns_plugin}' is not supported")
        plugin = f"--dns-{options.dns_plugin}"
        credentials = options.dns_plugin_credentials
        return [plugin, *([f"{plugin}-credentials", credentials] if credentials else [])]
    if options.manual_auth_hook:
        cleanup = options.manual_cleanup_hook
        hooks = ["--manual", "--manual-auth-hook", options.manual_auth_hook]
        return [*hooks, *(["--manual-cleanup-hook", cleanup] if cleanup else [])]
    return ["--authenticator", "standalone"]


def program() -> str:
    """Path of certbot; StateFailed where there is none."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        raise StateFailed("certbot is not installed")
    return found


def obtain(machine: Machine, certname: str, argv: Sequence[str], *, renewing: bool) -> bool:
    """Get a certificate; whether certbot has done something. StateFailed with what it says."""
    machine.begin_elsewhere()
    command = [program(), *argv, *(["--renew-by-default"] if renewing else [])]
    done = machine.run(command)
    if done.returncode and "expand" in done.stderr and "--expand" not in command:
        done = machine.run([*command, "--expand"])
    if done.returncode:
        raise StateFailed(f"Certificate {certname} renewal failed with:\n{_complaint(done)}")
    return "no action taken" not in done.stdout


def _complaint(done: Completed) -> str:
    return (done.stderr.strip() or done.stdout.strip())[-4000:]
