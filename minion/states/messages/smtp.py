"""The state module `smtp`: mails.

Behaviour: doc/ref/states/all/salt.states.smtp. It sends one each time it runs.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.arguments.types import Texts
from minion.machine.failure import StateFailed
from minion.machine.functions import Functions
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction


def send_msg(
    machine: Reader, name: str, recipient: str, subject: str, *, functions: Functions, sender: str | None = None,
    profile: str | None = None, use_ssl: bool = True, attachments: Texts = (),
) -> Plan:  # fmt: skip
    """A mail with this text. `profile` names the option or pillar that has server, sender and password."""
    if profile is None and sender is None:
        raise StateFailed("Missing parameter sender or profile for state smtp.send_msg")
    given = {"subject": subject, "sender": sender, "profile": profile, "use_ssl": use_ssl}

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        mail = {"recipient": recipient, "message": name, "attachments": list(attachments), **given}
        try:
            functions.call("smtp.send_msg", (), mail)
        except StateFailed as error:
            raise StateFailed(f"Unable to send message to {recipient}: {name}\n{error}") from error

    more = f" with attachments ({', '.join(attachments)})" if attachments else ""
    return Plan(
        changes=(Change(key="", act=act),),
        pending=f"Need to send message to {recipient}: {name}",
        done=f"Sent message to {recipient}{more}: {name}",
        converges=False,
        each_time=True,
    )


STATES: Mapping[str, StateFunction] = {"send_msg": send_msg}
