"""The execution module `keyboard`: the layout of the keyboard on the console, and of the X server that runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.apply_state import act
from minion.execution.context import Context
from minion.providers.keyboard import console_of, x_server


def get_sys(context: Context) -> str:
    """The layout of the console; empty where none is set."""
    return console_of(context.machine).layout(context.machine)


def set_sys(context: Context, layout: str) -> str:
    """Set the layout of the console; what it is now."""
    act(context, "keyboard.system", layout)
    return layout


def get_x(context: Context) -> str:
    """The layout of the X server."""
    return x_server().layout(context.machine)


def set_x(context: Context, layout: str) -> str:
    """Set the layout of the X server; what it is now."""
    act(context, "keyboard.xorg", layout)
    return layout


FUNCTIONS: Mapping[str, Any] = {"get_sys": get_sys, "get_x": get_x, "set_sys": set_sys, "set_x": set_x}
