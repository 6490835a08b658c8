"""`saltern rollout watch` on a terminal: a bar for the whole rollout and one for each batch."""

from __future__ import annotations

from controller.cli import output
from controller.cli.live.fitted_table import cut
from controller.schema.fleet.rollouts import BatchView, RolloutView

PHASES = {"Completed": "green", "Failed": "red", "RolledBack": "red", "Aborted": "red", "Paused": "yellow"}
_STATES = {"done": "green", "released": "cyan"}


def rollout_frame(view: RolloutView, columns: int, lines: int) -> list[str]:
    """The lines, for `columns` and `lines` of a terminal; where there are too many, batches that are done go first."""
    head = f"rollout {view.id} of {view.revision}: {view.phase}"
    released = f"{output.bar(view.released, view.minions)} {view.released}/{view.minions} minions released"
    top = [output.styled(cut(head, columns), fg=PHASES.get(view.phase), bold=True)]
    top += [cut(output.printable(text, kept=""), columns) for text in (view.about, view.why) if text]
    top += ["", cut(released, columns)]
    batches, room = list(view.batches), max(lines - len(top) - 2, 1)
    done = 0
    while len(batches) > room and batches[0].state == "done":
        batches, done = batches[1:], done + 1
    later = max(len(batches) - room, 0)
    shown = [f"  {done} batches are done"] if done else []
    shown += [_batch(one, columns) for one in batches[: len(batches) - later]]
    shown += [f"  and {later} more batch{'' if later == 1 else 'es'}"] if later else []
    return [*top, *shown]


def _batch(one: BatchView, columns: int) -> str:
    through = one.good + one.failed
    counts = {"failed": one.failed, "open": one.pending, "absent": one.absent, "held": one.held}
    told = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    wave = output.printable(one.wave, kept="") + (" (canary)" if one.canary else "")
    text = f"  {output.bar(through, one.minions, 12)} {through}/{one.minions} {one.state}  {wave}"
    colour = "red" if one.failed else _STATES.get(one.state)
    return output.styled(cut(f"{text}: {told}" if told else text, columns), fg=colour)
