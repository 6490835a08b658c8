"""The controller's schedule. Times are seconds since the epoch, None where there is none."""

from __future__ import annotations

import msgspec

from controller.schema.structs import ApiStruct


class SwitchView(ApiStruct, frozen=True, kw_only=True):
    """A job, or the whole schedule, that somebody enabled or disabled; it holds over restarts."""

    enabled: bool
    user: str
    at: float


class ScheduledJobView(ApiStruct, frozen=True, kw_only=True):
    """One job."""

    job: str
    function: str
    target: str = ""
    """Minions that call the function; empty: it is a runner."""
    tgt_type: str = ""
    when: str
    """`every 3600 s`, `cron 0 4 * * *`, or the times as they are written; then the time zone where one is named."""
    enabled: bool
    switch: SwitchView | None = None
    """Who enabled or disabled it; None: it is as its file says."""
    next: float | None = None
    last: float | None = None
    """When it was due and begun last; runs by `saltern schedule run` are in the history."""
    running: int = 0
    place: str
    """File and line."""


class ScheduleView(ApiStruct, frozen=True, kw_only=True):
    """The whole schedule."""

    disabled: SwitchView | None = None
    """Who disabled all jobs; None: nobody."""
    jobs: tuple[ScheduledJobView, ...] = ()


class ScheduleRunQuestion(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern schedule run`."""

    job: str
    force: bool = False
    """Also one that is disabled, and beside runs that go on."""


class ScheduleRunView(ApiStruct, frozen=True, kw_only=True):
    """A job that was begun."""

    job: str
    event: int
    """Id of `saltern/schedule/JOB/run`."""
    jid: str = ""
    """Of the runner; empty where minions were asked."""
    runs: dict[str, str] = msgspec.field(default_factory=dict)
    """Minion -> id of its run."""


class ScheduleSwitchQuestion(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern schedule enable` and `disable`."""

    job: str = ""
    """Empty: the whole schedule."""
    enabled: bool
