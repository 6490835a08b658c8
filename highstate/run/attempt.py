"""What one chunk does when its requisites let it run: plan, act, mod_watch, and again as `retry` says.

Called by the runner, by several threads at once where chunks are parallel. Whether a chunk runs is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from highstate.run.ports import Executor, Journal, Prepared
from highstate.run.requisites import changed
from highstate.run.retry import retry_of
from highstate.types import Chunk, StateResult, Value, state_title


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """One run's."""

    executor: Executor
    journal: Journal
    test: bool
    interrupted: Mapping[str, Mapping[str, Value]]
    """Key → intended changes of what a cut-off attempt began."""
    sleep: Callable[[float], None]
    draw: Callable[[int], int]
    stopping: Callable[[], bool]
    remember: Callable[[str], None]
    """Called with a chunk that is about to act; for parallel ones the runner has called it before."""
    arguments: Callable[[str, Chunk], Mapping[str, Value]]
    """Those of a chunk, as they are by now."""
    on_watch: Callable[[], None]
    """Called when a chunk's mod_watch follows what it did by itself."""

    def until_good(self, chunk: Chunk, attempt: Callable[[], StateResult]) -> StateResult:
        """Attempts until `retry` is satisfied; one, when there is no `retry` or under test=True."""
        result = attempt()
        if "retry" not in chunk.arguments:
            return result
        retry = retry_of(chunk.arguments["retry"])
        if self.test:
            return replace(result, comment=f"{result.comment}  {retry.said()}")
        earlier: list[str] = []
        for number in range(1, retry.attempts):
            if result.result is retry.until or self.stopping():
                break
            earlier.append(
                f'Attempt {number}: Returned a result of "{result.result}", '
                f'with the following comment: "{result.comment}"'
            )
            self.sleep(retry.interval + (self.draw(retry.splay) if retry.splay else 0))
            result = attempt()
        return replace(result, comment="\n".join([*earlier, result.comment])) if earlier else result

    def one(self, key: str, chunk: Chunk, watched: bool) -> StateResult:
        """Plan and act once; `watched`: something that it watches has changed."""
        prepared = self.prepare(key, chunk)
        if self.test:
            return self.predict(key, prepared, watched, self.on_watch)
        result = self._done(key, prepared)
        if watched and _leaves_watch(result):
            result = self._watch(key, chunk, result)
        return _resumed(result, self.interrupted[key]) if key in self.interrupted else result

    def prepare(self, key: str, chunk: Chunk) -> Prepared:
        """The plan of what it does by itself."""
        prepared = self.executor.plan(chunk, self.arguments(key, chunk), watched=False)
        if prepared is not None:
            return prepared
        failure = StateResult(name=chunk.name, result=False, comment=f"No plan was made for {state_title(key)}")
        return Prepared(chunk=chunk, predicted=failure)

    def predict(
        self, key: str, prepared: Prepared, watched: bool, on_watch: Callable[[], None] = lambda: None
    ) -> StateResult:
        """The predicted result, its mod_watch included; `on_watch` is called when there is one."""
        result = prepared.predict() if prepared.predict else prepared.predicted
        if not watched or not _leaves_watch(result) or changed(result):
            return result
        follow = self.executor.plan(prepared.chunk, self.arguments(key, prepared.chunk), watched=True)
        if follow is None:
            return result
        on_watch()
        return follow.predict() if follow.predict else follow.predicted

    def listener(self, key: str, chunk: Chunk) -> StateResult:
        """Its mod_watch, because of `listen`."""
        prepared = self.executor.plan(chunk, chunk.arguments, watched=True)
        if prepared is None:
            comment = f"State '{chunk.state}.mod_watch' was not found, so nothing can listen with it"
            return StateResult(name=chunk.name, result=False, comment=comment)
        if self.test:
            return prepared.predict() if prepared.predict else prepared.predicted
        return self._done(key, prepared)

    def _watch(self, key: str, chunk: Chunk, result: StateResult) -> StateResult:
        follow = self.executor.plan(chunk, self.arguments(key, chunk), watched=True)
        if follow is None:
            return result
        self.on_watch()
        return self._done(key, follow)

    def _done(self, key: str, prepared: Prepared) -> StateResult:
        if prepared.work is None:
            return prepared.predicted
        if prepared.chunk.arguments.get("parallel") is not True:
            self.remember(key)
        self.journal.intent(key, prepared.predicted.changes)
        return self.executor.act(prepared)


def _leaves_watch(result: StateResult) -> bool:
    """Whether mod_watch follows: what the chunk did by itself has changed nothing (Salt)."""
    return not result.changes and not result.skip_watch and not result.skipped


def _resumed(result: StateResult, intended: Mapping[str, Value]) -> StateResult:
    """A result after a cut-off attempt: what was intended then has happened, in part or in whole."""
    note = "" if result.changes else "\nThe changes were made by an attempt that was cut off before it could report."
    return replace(result, changes={**intended, **result.changes}, comment=result.comment + note)
