"""Prints where minions are compiled, for `saltern workers`, and what is wrong with it, for `saltern status`."""

from __future__ import annotations

import click

from controller.cli import output
from controller.schema.minions import CompileWorker, ExecutorStatus

_NOT_USED = ("silent", "suspended", "refused")


def show_workers(view: ExecutorStatus, out: str) -> None:
    """Print all of it."""
    if out != "text":
        output.document(view, out)
        return
    where = f"executor  {view.executor}: {view.state}" + (f", since {output.ago(view.since)}" if view.since else "")
    click.echo(output.printable(f"{where}: {view.error}" if view.error else where))
    click.echo(f"compiled  {output.counted(view.minions_on_workers, 'minion')} by workers, {view.minions_here} here")
    if view.fallbacks:
        click.echo(_fallbacks(view))
    if view.workers:
        click.echo()
        heads = ("Worker", "Name", "State", "Processes", "Minions", "Since", "Reason")
        output.table(heads, [_row(worker) for worker in view.workers])
    if wrong := complaint_of(view):
        output.remark(output.printable(wrong))


def complaint_of(view: ExecutorStatus) -> str:
    """What an operator has to look at; empty when there is nothing."""
    if view.state == "unreachable":
        return f"compile_executor {view.executor} cannot be reached, compiles are done here: {view.error}"
    wrong = [worker for worker in view.workers if worker.state in _NOT_USED]
    ready = [worker for worker in view.workers if worker.state == "ready"]
    if view.state == "connected" and not ready:
        return f"compile_executor {view.executor}: no worker is ready, compiles are done here (saltern workers)"
    if wrong:
        names = ", ".join(f"{worker.name} {worker.state}" for worker in wrong[:3])
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        return f"compile_executor {view.executor}: {names}{more} (saltern workers)"
    return ""


def _row(worker: CompileWorker) -> tuple[str, ...]:
    return (
        worker.worker,
        worker.name,
        worker.state,
        str(worker.processes),
        str(worker.minions),
        output.ago(worker.since),
        worker.reason,
    )


def _fallbacks(view: ExecutorStatus) -> str:
    last = f"the last {output.ago(view.fallback_at)}: {view.fallback_reason}"
    return output.printable(f"fallbacks {view.fallbacks} shares of compiles were done here instead, {last}")
