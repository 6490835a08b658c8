"""Reads the answer to a request in a thread, so that whoever wants its items can wait for a limited time."""

from __future__ import annotations

import contextlib
import queue
import threading
from typing import Any

import msgspec

from extmods.salt_compat.exceptions import SaltClientError
from saltern.client.connection import Connection, explained


class Ended(SaltClientError):
    """The controller has said all."""


class StreamReader:
    """An answer that is being read.

    Args:
        connection: to the controller.
        path: of the request, which is made now.
        most: items that wait to be read; with `lossy`, of more the oldest are dropped, else no more are taken from the
            controller.
        question: body of the request.
        lossy: whether items may be dropped.
        query: of the request.

    Raises:
        SaltClientError: no controller answers, or it refuses (SaltInvocationError, NoMinions).
    """

    def __init__(
        self,
        connection: Connection,
        path: str,
        most: int,
        question: msgspec.Struct | None = None,
        *,
        lossy: bool = False,
        **query: Any,
    ) -> None:
        self.dropped = 0
        self._lossy = lossy
        self._gone = threading.Event()
        self._waiting: queue.Queue[Any] = queue.Queue(most)
        self._end: SaltClientError | None = None
        self._client = connection.open()
        try:
            with explained():
                self._items = self._client.stream(path, question, **query)
        except BaseException:
            self._client.close()
            raise
        threading.Thread(target=self._read, name="saltern-stream", daemon=True).start()

    def next(self, wait: float) -> Any:
        """The next item; None: none within so many seconds.

        Raises:
            Ended: there are no more.
            SaltClientError: the controller stopped answering, or refused in the middle.
        """
        if self._end is not None:
            raise self._end
        try:
            item = self._waiting.get(timeout=wait) if wait else self._waiting.get_nowait()
        except queue.Empty:
            return None
        if isinstance(item, SaltClientError):
            self._end = item
            raise item
        return item

    def end(self) -> None:
        """Hang up: nobody wants the rest."""
        self._gone.set()
        self._client.hang_up()

    def _read(self) -> None:
        end: SaltClientError = Ended("the controller has ended its answer")
        try:
            with explained():
                for item in self._items:
                    self._keep(item)
        except SaltClientError as failure:
            end = failure
        self._client.close()
        self._keep(end)

    def _keep(self, item: Any) -> None:
        while not self._gone.is_set():
            try:
                self._waiting.put(item, timeout=0.0 if self._lossy else 1.0)
                return
            except queue.Full:
                if self._lossy:
                    self._drop()

    def _drop(self) -> None:
        with contextlib.suppress(queue.Empty):  # the reader may have taken the last one meanwhile
            self._waiting.get_nowait()
            self.dropped += 1
