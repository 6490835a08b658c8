"""The execution module `cron`: crontabs of users. Read and written by the code of the states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.apply_state import act
from minion.execution.arguments import AnyTime
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.states.cron import read_tab

_FIELDS = ("minute", "hour", "daymonth", "month", "dayweek")


def raw_cron(context: Context, user: str) -> str:
    """The text of a user's crontab; empty when there is none."""
    done = context.machine.query(["crontab", "-u", user, "-l"])
    if done.returncode == 127:
        raise CallFailed("There is no crontab program: install the package cron")
    return done.stdout if done.returncode == 0 else ""


def list_tab(context: Context, user: str) -> dict[str, Any]:
    """A user's crontab: what stands above the managed part (`pre`), jobs, special jobs, variables."""
    tab = read_tab(context.machine, user)
    crons, special = [], []
    for job in tab.jobs:
        said = {"identifier": job.identifier, "cmd": job.command, "comment": job.comment, "commented": job.disabled}
        if len(job.when) == 1:
            special.append({"spec": job.when[0], **said})
        else:
            crons.append({**dict(zip(_FIELDS, job.when, strict=True)), **said})
    env = [{"name": name, "value": value} for name, value in tab.variables.items()]
    return {"pre": list(tab.above), "crons": crons, "special": special, "env": env}


def get_entry(context: Context, user: str, identifier: str | None = None, cmd: str | None = None) -> Any:
    """The job with this identifier or command; false when there is none."""
    jobs = list_tab(context, user)["crons"]
    key, wanted = ("identifier", identifier) if identifier else ("cmd", cmd)
    return next((one for one in jobs if one[key] == wanted), False)


def set_job(
    context: Context, user: str, minute: str, hour: str, daymonth: str, month: str, dayweek: str, cmd: str,
    commented: bool = False, comment: str | None = None, identifier: str | None = None,
) -> str:  # fmt: skip
    """Have a job run at these times: `new`, `updated` or `present`."""
    when = dict(zip(_FIELDS, (minute, hour, daymonth, month, dayweek), strict=True))
    return _set(context, "cron.present", cmd, user, identifier, commented=commented, comment=comment, **when)


def set_special(
    context: Context,
    user: str,
    special: str,
    cmd: str,
    commented: bool = False,
    comment: str | None = None,
    identifier: str | None = None,
) -> str:
    """Have a job run at `@daily` and the like: `new`, `updated` or `present`."""
    return _set(context, "cron.present", cmd, user, identifier, commented=commented, comment=comment, special=special)


def rm_job(
    context: Context, user: str, cmd: str, minute: AnyTime = None, hour: AnyTime = None, daymonth: AnyTime = None,
    month: AnyTime = None, dayweek: AnyTime = None, identifier: str | None = None,
) -> str:  # fmt: skip
    """Have a job run no more: `removed` or `absent`."""
    gone = act(context, "cron.absent", cmd, user=user, identifier=False if identifier is None else identifier).changes
    return "removed" if gone else "absent"


def rm_special(context: Context, user: str, cmd: str, special: AnyTime = None, identifier: str | None = None) -> str:
    """Have a job of `@daily` and the like run no more: `removed` or `absent`."""
    return rm_job(context, user, cmd, identifier=identifier)


def set_env(context: Context, user: str, name: str, value: str | None = None) -> str:
    """Set a variable for the jobs: `new`, `updated` or `present`."""
    known = name in read_tab(context.machine, user).variables
    changed = act(context, "cron.env_present", name, user=user, value=value).changes
    return ("updated" if known else "new") if changed else "present"


def rm_env(context: Context, user: str, name: str) -> str:
    """Take a variable of the jobs away: `removed` or `absent`."""
    return "removed" if act(context, "cron.env_absent", name, user=user).changes else "absent"


def write_cron_file(context: Context, user: str, path: str) -> bool:
    """Put a file in place of a user's crontab; whether crontab(1) took it."""
    return bool(write_cron_file_verbose(context, user, path)["retcode"] == 0)


def write_cron_file_verbose(context: Context, user: str, path: str) -> dict[str, Any]:
    """Put a file in place of a user's crontab; what crontab(1) said."""
    from minion.modules.cmd import as_salt

    return as_salt(context.machine.run(["crontab", "-u", user, "--", path]))


def _set(context: Context, state: str, cmd: str, user: str, identifier: str | None, **arguments: Any) -> str:
    key = cmd if identifier is None else identifier
    known = any(job.is_for(cmd, key) for job in read_tab(context.machine, user).jobs)
    given = False if identifier is None else identifier
    changed = act(context, state, cmd, user=user, identifier=given, **arguments).changes
    return ("updated" if known else "new") if changed else "present"


FUNCTIONS: Mapping[str, Any] = {
    "get_entry": get_entry,
    "list_tab": list_tab,
    "ls": list_tab,
    "raw_cron": raw_cron,
    "rm": rm_job,
    "rm_env": rm_env,
    "rm_job": rm_job,
    "rm_special": rm_special,
    "set_env": set_env,
    "set_job": set_job,
    "set_special": set_special,
    "write_cron_file": write_cron_file,
    "write_cron_file_verbose": write_cron_file_verbose,
}
