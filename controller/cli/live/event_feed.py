"""Follows the events of the controller in a thread, so that what is shown is asked for again when something happens.

Used by `controller.cli.live.watching`. It keeps no event.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from controller.cli.client import Client
from controller.cli.failure import Failure

RETRY_SECONDS = 2.0
"""Between two attempts to reach a controller that is gone."""


class EventFeed:
    """A thread that calls back for each event, and connects again when the controller was gone.

    Args:
        config_dir: whose controller it is.
        on_event: called in the thread.
    """

    def __init__(self, config_dir: Path, on_event: Callable[[], None]) -> None:
        self._config_dir, self._on_event = config_dir, on_event
        self._stopped = threading.Event()
        self._client: Client | None = None
        self._thread = threading.Thread(target=self._run, name="events", daemon=True)

    def __enter__(self) -> EventFeed:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        if self._client is not None:
            self._client.hang_up()
        self._thread.join(1.0)  # it may be connecting; it is a daemon, and ends with the process then

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                with Client(self._config_dir) as self._client:
                    for _ in self._client.stream("/events", tag="*"):
                        if self._stopped.is_set():
                            return
                        self._on_event()
            except (Failure, OSError):
                pass  # it is told by who asks for what is shown
            self._stopped.wait(RETRY_SECONDS)
