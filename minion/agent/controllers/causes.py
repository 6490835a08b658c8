"""Why a controller cannot be reached, and what to check, for who reads the log. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from wire.address import Address
from wire.keys import fingerprint
from wire.probe import ProbeOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionsOfPlace:
    """The options that say where the controller is.

    Args:
        host: that names its host.
        port: that names its `ret_port`.
        of: to whom they belong, or the file that has them: behind `here`.
    """

    host: str = "master"
    port: str = "master_port"
    of: str = ""

    @property
    def here(self) -> str:
        """Where they are written."""
        return f"in {self.of}" if self.of else "here"


def cause_of(
    found: ProbeOutcome, error: str, handshake: str, address: Address, options: OptionsOfPlace
) -> tuple[str, str]:
    """What is wrong, and what to check.

    Args:
        found: at the address.
        error: the system's words.
        handshake: why the last handshake failed; empty: none did.
        address: that was dialled.
        options: which say it.
    """
    where, host, port = f"{address.host}:{address.request_port}", options.host, options.port
    match found:
        case "unresolved":
            return f"{address.host} has no address: {error}", f"check `{host}`, and the name servers of this machine"
        case "refused":
            return (
                f"nothing listens on {where}",
                f"see that the controller runs there (`saltern controller`), and that `{port}` {options.here} is its "
                "`ret_port`",
            )
        case "silent":
            return (
                f"{where} does not answer",
                f"check `{host}`, and that firewalls let this machine to the ports of `{port}` and `publish_port`",
            )
        case "unreachable":
            return f"{where} cannot be reached: {error}", f"check `{host}`, and the routes of this machine"
        case "foreign":
            return f"what listens on {where} is no controller", f"check `{host}` and `{port}`"
        case "plain":
            return (
                f"what listens on {where} speaks ZeroMQ without CURVE, as a Salt master does",
                f"check `{host}` and `{port}`: a Saltern controller is needed there",
            )
        case "curve":
            return _cause_of_handshake(handshake, address, options)


def _cause_of_handshake(handshake: str, address: Address, options: OptionsOfPlace) -> tuple[str, str]:
    where, port = f"{address.host}:{address.request_port}", options.port
    if address.relay_key and handshake:
        return (
            f"by the relay on {where} no session with the controller comes about: {handshake}",
            "see the relay's log; compare `relay_key` with `saltern relay --key` there, and `controller_key` with "
            "`saltern key controller` on the controller",
        )
    if "does not let this key in" in handshake:
        return f"{where}: {handshake}", f"see the controller's log; check that `{port}` is its `ret_port`"
    if handshake:
        return (
            f"the controller on {where} has another key than `controller_key` {options.here}, whose fingerprint is "
            f"{fingerprint(address.controller_key)}, or this is its `publish_port`, where no unknown key comes in",
            f"see that `{port}` {options.here} is its `ret_port`; compare with `saltern key controller --fingerprint` "
            "on the controller; if it was made anew put its key into `controller_key`, and if not, somebody else "
            "answers at this address; where a relay listens write its key as `relay_key`",
        )
    return f"{where} takes connections, and none has come about", "see the controller's log"
