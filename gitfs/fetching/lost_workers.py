"""Why a worker was lost, as people read it. Pure; called by `fetcher`."""

from __future__ import annotations

import signal

from gitfs.fetching import worker_pool

BAD_MEMORY = (signal.SIGBUS, signal.SIGSEGV)
"""What a process gets that reads a file which somebody has made shorter, or follows an index that lies."""


def why_gc_was_lost(error: worker_pool.WorkerLost) -> str:
    """The same of a garbage collection."""
    if isinstance(error, worker_pool.WorkerDied) and -error.code in BAD_MEMORY:
        name = signal.Signals(-error.code).name
        return f"garbage collection was ended by {name}: a pack of the mirror was cut off; the next fetch rebuilds it"
    return f"garbage collection: {why_lost(error)}"


def why_lost(error: worker_pool.WorkerLost) -> str:
    """Why a job has no result, and what becomes of it."""
    match error:
        case worker_pool.DeadlinePassed():
            return f"it took more than {error.seconds:g} s and was ended; it will be tried again"
        case worker_pool.MadeRoom():
            return f"it did not answer, like {worker_pool.MOST_WORKERS} others, and was ended; it will be tried again"
        case worker_pool.PoolClosed():
            return "it was ended, as fetching has stopped"
        case worker_pool.WorkerDied(code=code) if -code in BAD_MEMORY:
            return (
                f"its process was ended by {signal.Signals(-code).name}: a pack or an index was cut off or overwritten "
                "while it was read; run `git fsck` in the remote; it will be tried again"
            )
        case worker_pool.WorkerDied(code=code) if code < 0:
            hint = "; the kernel's log says whether memory ran out" if code == -signal.SIGKILL else ""
            return f"its process was ended by {signal.Signals(-code).name}{hint}; it will be tried again"
        case worker_pool.WorkerDied(code=code):
            return f"its process ended with code {code}; it will be tried again"
    return f"its process could not be started: {error}"
