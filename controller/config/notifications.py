"""The option `notifications`: the receivers of notifications, with their addresses and secrets.

    notifications:
      receivers:
        ops-chat: {kind: slack, url: {file: /etc/saltern/slack-url}}

Which of them gets what is policy, and stands in saltern.yaml. Nothing here opens a connection, and no fault shows a
secret. Read by `controller.config.settings`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from controller.forges.settings import ForgeSecret, SecretText, is_this_machine
from gitfs.config.credentials import AskVault, SecretFrom, parse_secret, withhold
from options.convert import Unwanted, convert_value, kinds_of
from options.document import Fault, Option
from options.kinds import Folder, OptionText, PortNumber, Prepare, Wanted, one_as_list
from options.near_names import did_you_mean

ReceiverSecret: TypeAlias = ForgeSecret
"""A secret, or where it stands."""
MOST_RECEIVERS = 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def checked_address(value: Any, *, plain_http: bool = False) -> str:
    """An address of a receiver; ValueError says what is wanted, and shows nothing of it.

    Args:
        value: as it is written, or read from where it stands.
        plain_http: whether http may be used beyond this machine.
    """
    wanted = "an http or https address" if plain_http else "an https address (http on this machine alone)"
    if not isinstance(value, str) or not value.isascii() or any(each.isspace() for each in value):
        raise ValueError(wanted)
    try:
        parts = urlsplit(value)
        valid = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        raise ValueError(wanted) from None
    if not valid or parts.scheme not in ("http", "https") or parts.fragment:
        raise ValueError(wanted)
    if parts.scheme == "http" and not plain_http and not is_this_machine(parts.hostname or ""):
        raise ValueError(wanted)
    return value


def _secret_address(value: Any) -> Any:
    found = parse_secret(value)
    return checked_address(found) if isinstance(found, str) else found


def _any_secret_address(value: Any) -> Any:
    found = parse_secret(value)
    return checked_address(found, plain_http=True) if isinstance(found, str) else found


def _server(value: Any) -> Any:
    return checked_address(value).rstrip("/")


def _addresses(value: Any) -> Any:
    found = one_as_list(value)
    if not isinstance(found, list) or not 0 < len(found) <= 100 or not all(_is_mail(each) for each in found):
        raise ValueError
    return found


def _is_mail(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[^\s,<>\"]+@[^\s,<>\"@]+", value) is not None


def _sender(value: Any) -> Any:
    plain = re.fullmatch(r"[^\r\n<>\"]{1,100} <(.+)>", value) if isinstance(value, str) else None
    if not _is_mail(plain[1] if plain else value):
        raise ValueError
    return value


SecretAddress: TypeAlias = Annotated[
    ForgeSecret, Wanted("an https address, or where it stands: `{file: /path}`"), Prepare(_secret_address)
]
AnySecretAddress: TypeAlias = Annotated[
    ForgeSecret, Wanted("an address, or where it stands: `{file: /path}`"), Prepare(_any_secret_address)
]
ServiceAddress: TypeAlias = Annotated[str, Wanted("an https address"), Prepare(_server)]
MailAddresses: TypeAlias = Annotated[tuple[str, ...], Wanted("addresses like ops@example.org"), Prepare(_addresses)]
MailSender: TypeAlias = Annotated[
    str, Wanted("an address like saltern@example.org or `Saltern <saltern@example.org>`"), Prepare(_sender)
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverOptions:
    """The options of receivers of one kind; each kind has a subclass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions(ReceiverOptions):
    """Slack, Microsoft Teams, Discord: an address that is their secret."""

    url: SecretAddress = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions(ReceiverOptions):
    """A webhook of anybody's."""

    url: AnySecretAddress = field(default="", repr=False)
    secret: SecretText = field(default="", repr=False)
    """Of the signature; empty: there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailOptions(ReceiverOptions):
    """E-mail."""

    host: OptionText = ""
    port: PortNumber = 0
    """0: 465 for `tls`, 587 for `starttls`, 25 without."""
    tls: Literal["starttls", "tls", "none"] = "starttls"
    user: OptionText = ""
    password: SecretText = field(default="", repr=False)
    sender: MailSender = ""
    to: MailAddresses = ()

    @property
    def port_number(self) -> int:
        """The port, or that which goes with `tls`."""
        return self.port or {"tls": 465, "starttls": 587, "none": 25}[self.tls]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixOptions(ReceiverOptions):
    """A room of Matrix."""

    server: ServiceAddress = ""
    """Of the client-server API, without `/_matrix`."""
    room: OptionText = ""
    """Its id, `!abc:example.org`."""
    token: SecretText = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PagerDutyOptions(ReceiverOptions):
    """An integration of PagerDuty."""

    routing_key: SecretText = field(default="", repr=False)
    url: ServiceAddress = "https://events.pagerduty.com/v2/enqueue"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpsgenieOptions(ReceiverOptions):
    """An integration of Opsgenie."""

    api_key: SecretText = field(default="", repr=False)
    url: ServiceAddress = "https://api.opsgenie.com"
    """`https://api.eu.opsgenie.com` for accounts of the EU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStatusOptions(ReceiverOptions):
    """Statuses of commits on a forge of the option `forges`."""

    forge: OptionText = ""
    context: OptionText = "saltern/deploy"
    """Name of the status."""


ReceiverKind: TypeAlias = Literal[
    "slack", "teams", "discord", "webhook", "email", "matrix", "pagerduty", "opsgenie", "commit_status"
]
RECEIVER_KINDS: Final[Mapping[str, tuple[type[ReceiverOptions], tuple[str, ...]]]] = {
    "slack": (ChatOptions, ("url",)),
    "teams": (ChatOptions, ("url",)),
    "discord": (ChatOptions, ("url",)),
    "webhook": (WebhookOptions, ("url",)),
    "email": (MailOptions, ("host", "sender", "to")),
    "matrix": (MatrixOptions, ("server", "room", "token")),
    "pagerduty": (PagerDutyOptions, ("routing_key",)),
    "opsgenie": (OpsgenieOptions, ("api_key",)),
    "commit_status": (CommitStatusOptions, ("forge",)),
}
"""Kind -> its options, and those that it needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverSettings:
    """One receiver."""

    name: str
    kind: ReceiverKind
    options: ReceiverOptions
    ca_file: str = ""
    """Certificates of the authorities that its certificate is checked with; empty: those of the system."""
    place: str = field(default="", compare=False)
    """`file:line`."""


def read_receivers(option: Option | None, forges: Sequence[str], faults: list[Fault]) -> tuple[ReceiverSettings, ...]:
    """The receivers of the option `notifications`; what is wrong is appended to the faults.

    Args:
        option: as it was written.
        forges: names of the option `forges`.
        faults: what was found so far.
    """
    if option is None or option.value is None:
        return ()
    given = option.value.get("receivers") if isinstance(option.value, Mapping) else None
    if not isinstance(given, Mapping) or set(option.value) != {"receivers"} or len(given) > MOST_RECEIVERS:
        text = f"notifications must be a mapping with `receivers`: at most {MOST_RECEIVERS} by their names"
        faults.append(Fault(option.place, text, "routes and templates stand in saltern.yaml"))
        return ()
    found = (_receiver(option, str(name), one, forges, faults) for name, one in given.items())
    return tuple(each for each in found if each is not None)


def withhold_receiver(receiver: ReceiverSettings, ask: AskVault | None) -> ReceiverSettings:
    """A receiver with secrets that can be revealed; those of the environment are taken out of it."""
    values = {name: getattr(receiver.options, name) for name in kinds_of(type(receiver.options))}
    withheld: dict[str, Any] = {
        name: withhold(each, ask) for name, each in values.items() if isinstance(each, SecretFrom)
    }
    return replace(receiver, options=replace(receiver.options, **withheld)) if withheld else receiver


def _receiver(
    option: Option, name: str, given: Any, forges: Sequence[str], faults: list[Fault]
) -> ReceiverSettings | None:
    inside = ("receivers", name)
    where = f"notifications: {name}"
    kind: Any = given.get("kind") if isinstance(given, Mapping) else None
    if not _NAME.fullmatch(name):
        faults.append(Fault(option.at(inside), f"notifications: {name!r} is no name of a receiver"))
        return None
    if kind not in RECEIVER_KINDS:
        hint = did_you_mean(str(kind), tuple(RECEIVER_KINDS)) if kind else ""
        text = f"{where} must be a mapping with a `kind`: {', '.join(RECEIVER_KINDS)}"
        faults.append(Fault(option.at(inside), text, hint))
        return None
    options, needed = RECEIVER_KINDS[kind]
    kinds = {**kinds_of(options), "ca_file": Folder}
    before, values = len(faults), dict[str, Any]()
    for key, value in given.items():
        if key == "kind":
            continue
        if key not in kinds:
            hint = did_you_mean(str(key), tuple(kinds)) or f"{kind} has {', '.join(kinds)}"
            faults.append(Fault(option.at((*inside, str(key))), f"{where}: there is no {key!r}", hint))
            continue
        try:
            values[key] = convert_value(value, kinds[key])
        except Unwanted as error:
            faults.append(Fault(option.at((*inside, key)), f"{where}: {key} must be {error.wanted}"))
    ca_file = values.pop("ca_file", "")
    if len(faults) == before:
        faults += [Fault(option.at(inside), f"{where}: {text}") for text in _lacking(kind, values, needed, forges)]
    if len(faults) > before:
        return None
    return ReceiverSettings(name=name, kind=kind, options=options(**values), ca_file=ca_file, place=option.at(inside))


def _lacking(kind: str, values: Mapping[str, Any], needed: Sequence[str], forges: Sequence[str]) -> Iterator[str]:
    if missing := [name for name in needed if name not in values]:
        yield f"{kind} needs {' and '.join(missing)}"
        return
    if kind == "email":
        if bool(values.get("user")) != bool(values.get("password")):
            yield "user and password go together"
        if values.get("password") and values.get("tls") == "none" and not is_this_machine(values["host"]):
            yield "a password is sent over `tls: starttls` or `tls: tls` alone"
    if kind == "commit_status" and values["forge"] not in forges:
        yield f"there is no forge {values['forge']!r}" + (f"; there are {', '.join(forges)}" if forges else "")
