"""The state module `slack`: messages to a channel of Slack.

Behaviour: doc/ref/states/all/salt.states.slack. It sends one each time it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import Each
from minion.machine.failure import StateFailed
from minion.machine.functions import Functions
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.messages.slack import configured_slack


def post_message(
    machine: Reader, name: str, *, functions: Functions, message: str = "", channel: str | None = None,
    from_name: str | None = None, api_key: str | None = None, icon: str | None = None, attachments: Each | None = None,
    blocks: Each | None = None, webhook: str | None = None, attachment: str | None = None, color: str = "good",
    short: bool = False, username: str | None = None, icon_emoji: str | None = None,
) -> Plan:  # fmt: skip
    """A message: by the Web API, with a token and `channel` and `from_name`; or by an incoming webhook."""
    if not api_key and not webhook:
        found = configured_slack(machine)
        api_key, webhook = found.api_key, "" if found.api_key else found.hook
    if not api_key and not webhook:
        raise StateFailed("Please specify api_key or webhook.")
    if api_key and webhook:
        raise StateFailed("Please specify only either api_key or webhook.")
    for value, what in (
        (not api_key or channel, "channel"),
        (not api_key or from_name, "from name"),
        (message, "message"),
    ):
        if not value:
            raise StateFailed(f"Slack {what} is missing.")
    given: dict[str, Any] = {"message": message, "channel": channel}
    if api_key:
        fun = "post_message"
        more: dict[str, Any] = {
            "from_name": from_name,
            "api_key": api_key,
            "icon": icon,
            "attachments": attachments,
            "blocks": blocks,
        }
    else:
        fun = "call_hook"
        more = {
            "identifier": webhook,
            "attachment": attachment,
            "color": color,
            "short": short,
            "username": username,
            "icon_emoji": icon_emoji,
        }

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        sent = functions.call(f"slack.{fun}", (), {**given, **more})
        if sent is not True:
            raise StateFailed(f"Failed to send message ({sent['message']}): {name}")

    return Plan(
        changes=(Change(key="", act=act),),
        pending=f"The following message is to be sent to Slack: {message}",
        done=f"Sent message: {name}",
        converges=False,
        each_time=True,
    )


STATES: Mapping[str, StateFunction] = {"post_message": post_message}
