"""`saltern top` as lines: what goes on in the fleet, the oldest runs first."""

from __future__ import annotations

import time
from collections import Counter

from controller.cli import output
from controller.cli.live.fitted_table import cut, fitted_table
from controller.cli.live.status_frame import style
from controller.schema.fleet.activity import ActiveRun, ActivityView, SlowMinion
from controller.schema.fleet.rollouts import RolloutView

_RUNS = ("Minion", "Run", "Kind", "State", "Age", "User", "Doing")
_RUNS_DROPPABLE = (5, 1)
_ROLLOUTS = ("Rollout", "Revision", "Phase", "Age", "Released", "Why")
_ROLLOUTS_DROPPABLE = (3, 1)
_SLOWEST = ("Slowest", "Runs", "Mean", "Longest")
_MOST_ROLLOUTS, _MOST_SLOWEST = 5, 8
"""Lines of these tables, headers included, where others need the room."""


class TopFrame:
    """Makes the screens of one `saltern top`: events a second are the difference of two answers."""

    def __init__(self) -> None:
        self._before: ActivityView | None = None
        self._newest: ActivityView | None = None

    def __call__(self, view: ActivityView, columns: int, lines: int) -> list[str]:
        """The screen, for `columns` and `lines` of a terminal."""
        if view is not self._newest:
            self._before, self._newest = self._newest, view
        top = [cut(line, columns) for line in _heads(view, events_a_second(self._before, view))]
        rollouts = _rollouts(view, columns)
        slowest = _slowest(view.slowest, columns)
        room = max(lines - len(top) - len(rollouts) - len(slowest) - 1, 2)
        return [output.styled(top[0], bold=True), *top[1:], *rollouts, "", *_runs(view, columns, room), *slowest][
            :lines
        ]


def events_a_second(before: ActivityView | None, now: ActivityView) -> float | None:
    """The rate between two answers of the same controller; None where there are none, or it was started between."""
    if before is None or now.at <= before.at or now.events < before.events:
        return None
    return (now.events - before.events) / (now.at - before.at)


def _heads(view: ActivityView, rate: float | None) -> list[str]:
    events = "" if rate is None else f"; {rate:.1f} events a second"
    states = Counter(run.state for run in view.runs)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    runs = f"{output.counted(view.open_runs, 'run')} under way" + (f" ({counts})" if counts else "")
    if view.open_runs > len(view.runs):
        runs = f"{view.open_runs} runs under way (of the oldest {len(view.runs)}: {counts})"
    work = f"{output.counted(view.compiling, 'minion')} compiling, {view.compile_queue} waiting to be"
    connected = f"{view.connected} of {output.counted(view.accepted, 'minion')} connected"
    return [
        f"saltern top  {time.strftime('%H:%M:%S', time.localtime(view.at))}  {connected}",
        f"{runs}; {view.queue} in the controller's queue",
        work,
        f"{output.counted(len(view.rollouts), 'rollout')}{events}",
    ]


def _runs(view: ActivityView, columns: int, room: int) -> list[str]:
    if not view.runs:
        return ["no run is under way"]
    rows = [_run(run, view.at) for run in view.runs]
    lines = fitted_table(_RUNS, rows, (columns, room), style, droppable=_RUNS_DROPPABLE, noun="run")
    if len(rows) < view.open_runs and len(lines) < room:
        lines.append(cut(f"and {output.counted(view.open_runs - len(rows), 'more run')}", columns))
    return lines


def _run(run: ActiveRun, now: float) -> tuple[str, ...]:
    doing = run.text or run.fun
    if run.total:
        doing = f"{output.bar(run.done, run.total, 10)} {run.text}"
    if not run.connected:
        doing = "its minion is not connected"
    return run.minion, run.run_id, run.kind, run.state, output.span(max(now - run.created, 0)), run.user, doing


def _rollouts(view: ActivityView, columns: int) -> list[str]:
    if not view.rollouts:
        return []
    rows = [_rollout(one, view.at) for one in view.rollouts]
    shown = fitted_table(
        _ROLLOUTS, rows, (columns, _MOST_ROLLOUTS), style, droppable=_ROLLOUTS_DROPPABLE, noun="rollout"
    )
    return ["", *shown]


def _rollout(one: RolloutView, now: float) -> tuple[str, ...]:
    released = f"{output.bar(one.released, one.minions, 10)} {one.released}/{one.minions}"
    return one.id, one.revision, one.phase, output.span(max(now - one.created, 0)), released, one.why


def _slowest(minions: tuple[SlowMinion, ...], columns: int) -> list[str]:
    rows = [
        (one.minion, str(one.runs), output.span(one.mean_seconds), output.span(one.most_seconds))
        for one in minions[: _MOST_SLOWEST - 1]
    ]
    return ["", *fitted_table(_SLOWEST, rows, (columns, _MOST_SLOWEST), style)] if rows else []
