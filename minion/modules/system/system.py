"""The execution module `system`: the machine as a whole: its time, its name, shutting it down.

What ends the machine's work (`reboot`, `shutdown`, `poweroff`, `halt`, `init`) is for calls and for `module.run`: a
template does not have these functions, since rendering a file must not end the machine's work.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed

_MACHINE_INFO = "/etc/machine-info"


def get_system_date(context: Context, utc_offset: str | None = None) -> str:
    """The date: `Sat 11/21/2026`."""
    now = _now(utc_offset)
    return f"{now:%a} {now:%m/%d/%Y}"


def get_system_time(context: Context, utc_offset: str | None = None) -> str:
    """The time: `01:05:09 PM`."""
    return f"{_now(utc_offset):%I:%M:%S %p}"


def get_system_date_time(context: Context, utc_offset: str | None = None) -> str:
    """Date and time: `2026-11-21 13:05:09`."""
    return f"{_now(utc_offset):%Y-%m-%d %H:%M:%S}"


def set_system_date_time(
    context: Context, years: int | None = None, months: int | None = None, days: int | None = None,
    hours: int | None = None, minutes: int | None = None, seconds: int | None = None, utc_offset: str | None = None,
) -> bool:  # fmt: skip
    """Set the clock; what is not given stays as it is."""
    given = {"year": years, "month": months, "day": days, "hour": hours, "minute": minutes, "second": seconds}
    now = _now(utc_offset)
    parts = {key: getattr(now, key) if value is None else int(value) for key, value in given.items()}
    try:
        new = datetime.datetime(tzinfo=now.tzinfo, **parts)
    except ValueError as error:
        raise CallFailed(str(error)) from error
    done = context.machine.run(["date", "--set", f"@{new.timestamp():.0f}"])
    if done.returncode != 0:
        raise CallFailed(f"The clock could not be set: {done.stderr.strip()}")
    return True


def set_system_time(context: Context, newtime: str, utc_offset: str | None = None) -> bool:
    """Set the time of day: `13:05`, `01:05:09 PM`."""
    found = _parsed(newtime, ("%I:%M:%S %p", "%I:%M %p", "%H:%M:%S", "%H:%M"))
    return set_system_date_time(
        context, hours=found.hour, minutes=found.minute, seconds=found.second, utc_offset=utc_offset
    )


def set_system_date(context: Context, newdate: str, utc_offset: str | None = None) -> bool:
    """Set the date: `2026-11-21`, `11/21/2026`."""
    found = _parsed(newdate, ("%Y-%m-%d", "%m-%d-%Y", "%m-%d-%y", "%m/%d/%Y", "%m/%d/%y", "%Y/%m/%d"))
    return set_system_date_time(context, years=found.year, months=found.month, days=found.day, utc_offset=utc_offset)


def get_computer_desc(context: Context) -> Any:
    """What the machine is said to be for (`PRETTY_HOSTNAME`); false when nothing is said."""
    if context.machine.stat(_MACHINE_INFO) is None:
        return False
    found = re.search(r'(?m)^PRETTY_HOSTNAME="?([^"\n]*)"?\s*$', context.machine.read(_MACHINE_INFO).decode())
    return found[1] if found else False


def set_computer_desc(context: Context, desc: str) -> bool:
    """Say what the machine is for."""
    if any(sign in desc for sign in '"\\\n$`'):
        raise CallFailed("the description holds a quote, backslash, dollar sign or newline")
    old = context.machine.read(_MACHINE_INFO).decode() if context.machine.stat(_MACHINE_INFO) else ""
    kept = "".join(line for line in old.splitlines(keepends=True) if not line.startswith("PRETTY_HOSTNAME="))
    context.machine.write(_MACHINE_INFO, f'{kept}PRETTY_HOSTNAME="{desc}"\n'.encode())
    return True


def get_computer_name(context: Context) -> str:
    """The machine's own name."""
    from minion.modules.network.module import get_hostname

    return get_hostname(context)


def set_computer_name(context: Context, hostname: str) -> bool:
    """Give the machine another name, now and at boot."""
    from minion.modules.network.module import mod_hostname

    return mod_hostname(context, hostname)


def has_settable_hwclock(context: Context) -> bool:
    """Whether the hardware clock can be set."""
    return context.machine.stat("/dev/rtc") is not None


def get_reboot_required_witnessed(context: Context) -> bool:
    """Whether something has said that the machine has to be rebooted."""
    return any(context.machine.stat(place) is not None for place in _REBOOT)


def set_reboot_required_witnessed(context: Context) -> bool:
    """Say that the machine has to be rebooted; forgotten by the reboot."""
    context.machine.write(_REBOOT[0], b"")
    return True


_REBOOT = ("/run/saltern-reboot-required", "/run/reboot-required")


def _ending(*argv: str, doc: str) -> Callable[..., str]:
    def end(context: Context, at_time: int | None = None) -> str:
        words = [one.format(time="now" if at_time is None else f"+{at_time}") for one in argv]
        done = context.machine.run(words)
        if done.returncode == 127:
            raise CallFailed(f"There is no {words[0]} program on this machine")
        if done.returncode != 0:
            raise CallFailed(done.stderr.strip() or f"{words[0]}: exit code {done.returncode}")
        return done.stdout.strip()

    end.__doc__ = doc
    return end


def init(context: Context, runlevel: int) -> str:
    """Go to another runlevel."""
    done = context.machine.run(["init", str(runlevel)])
    if done.returncode != 0:
        raise CallFailed(done.stderr.strip() or f"init: exit code {done.returncode}")
    return done.stdout.strip()


def _now(utc_offset: str | None) -> datetime.datetime:
    if utc_offset is None:
        return datetime.datetime.now().astimezone()
    found = re.fullmatch(r"([+-])(\d\d):?(\d\d)", str(utc_offset))
    if found is None:
        raise CallFailed(f"utc_offset is written as +0100, not {utc_offset!r}")
    delta = datetime.timedelta(hours=int(found[2]), minutes=int(found[3])) * (1 if found[1] == "+" else -1)
    return datetime.datetime.now(datetime.timezone(delta))


def _parsed(text: str, forms: tuple[str, ...]) -> datetime.datetime:
    for form in forms:
        try:
            return datetime.datetime.strptime(text, form)
        except ValueError:
            continue
    raise CallFailed(f"{text!r} cannot be read; write it as {', '.join(forms)}")


FUNCTIONS: Mapping[str, Any] = {
    "get_computer_desc": get_computer_desc,
    "get_computer_name": get_computer_name,
    "get_reboot_required_witnessed": get_reboot_required_witnessed,
    "get_system_date": get_system_date,
    "get_system_date_time": get_system_date_time,
    "get_system_time": get_system_time,
    "halt": _ending("halt", doc="Stop the machine without turning it off."),
    "has_settable_hwclock": has_settable_hwclock,
    "init": init,
    "poweroff": _ending("poweroff", doc="Turn the machine off."),
    "reboot": _ending("shutdown", "-r", "{time}", doc="Reboot the machine, at once or in so many minutes."),
    "set_computer_desc": set_computer_desc,
    "set_computer_name": set_computer_name,
    "set_reboot_required_witnessed": set_reboot_required_witnessed,
    "set_system_date": set_system_date,
    "set_system_date_time": set_system_date_time,
    "set_system_time": set_system_time,
    "shutdown": _ending("shutdown", "-h", "{time}", doc="Turn the machine off, at once or in so many minutes."),
}
