"""The execution module `slack`: messages, channels and people of a workspace.

Behaviour: doc/ref/modules/all/salt.modules.slack_notify.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import AnyValue, Each
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.failure import StateFailed
from minion.providers.messages.slack import SlackApi, channel_of, configured_slack, post_to_hook


def call_hook(
    context: Context, message: str, attachment: str | None = None, color: str = "good", short: bool = False,
    identifier: str | None = None, channel: str | None = None, username: str | None = None,
    icon_emoji: str | None = None,
) -> Any:  # fmt: skip
    """Post to an incoming webhook: true, or what Slack says is wrong. `identifier`: its address, or the end of it."""
    hook = identifier or configured_slack(context.machine).hook
    if not hook:
        raise CallFailed("No Slack WebHook url found")
    fields = {"fields": [{"value": attachment, "short": short}]}
    card = {"fallback": message, "color": color, "pretext": message, **fields}
    asked = {"channel": channel, "username": username, "icon_emoji": icon_emoji}
    payload: dict[str, Any] = {"attachments": [card]} if attachment else {"text": message}
    try:
        post_to_hook(hook, {**payload, **{key: value for key, value in asked.items() if value}})
    except StateFailed as error:
        return {"res": False, "message": str(error)}
    return True


def find_room(context: Context, name: str, api_key: str | None = None) -> Any:
    """A channel by its name; false where there is none."""
    wanted = name.removeprefix("#")
    rooms = _api(context, api_key).all("conversations.list", "channels")
    return next((one for one in rooms if one.get("name") == wanted), False)


def find_user(context: Context, name: str, api_key: str | None = None) -> Any:
    """A member by its name; false where there is none."""
    return next((one for one in _api(context, api_key).all("users.list", "members") if one.get("name") == name), False)


def list_rooms(context: Context, api_key: str | None = None) -> dict[str, Any]:
    """The channels: `res`, and `message` with them or with what is wrong."""
    return _listed(context, api_key, "conversations.list", "channels")


def list_users(context: Context, api_key: str | None = None) -> dict[str, Any]:
    """The members: `res`, and `message` with them or with what is wrong."""
    return _listed(context, api_key, "users.list", "members")


def post_message(
    context: Context, channel: str, message: str, from_name: str, api_key: str | None = None, icon: str | None = None,
    attachments: Each | None = None, blocks: Each | None = None,
) -> Any:  # fmt: skip
    """Post to a channel, named or by its id, or to `@person`: true, or what Slack says is wrong."""
    given: dict[str, AnyValue] = {"channel": channel_of(channel), "username": from_name, "text": message}
    more = {"icon_url": icon, "attachments": attachments, "blocks": blocks}
    try:
        _api(context, api_key).post("chat.postMessage", {**given, **{key: one for key, one in more.items() if one}})
    except StateFailed as error:
        return {"res": False, "message": str(error)}
    return True


def _listed(context: Context, api_key: str | None, method: str, key: str) -> dict[str, Any]:
    try:
        return {"res": True, "message": list(_api(context, api_key).all(method, key))}
    except StateFailed as error:
        return {"res": False, "message": str(error)}


def _api(context: Context, api_key: str | None) -> SlackApi:
    found = configured_slack(context.machine)
    if not (api_key or found.api_key):
        raise CallFailed("No Slack API key found.")
    return SlackApi(api_key or found.api_key, found.api_url)


FUNCTIONS: Mapping[str, Any] = {
    "call_hook": call_hook,
    "find_room": find_room,
    "find_user": find_user,
    "list_rooms": list_rooms,
    "list_users": list_users,
    "post_message": post_message,
}
