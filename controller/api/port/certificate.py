"""The certificate of the API's port, read again when its files change: a renewal needs no restart."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import structlog

from controller.config.api import TlsOptions
from controller.config.api_files import BadCertificate, tls_context

log = structlog.get_logger("saltern.api")

LOOK_SECONDS = 5.0
"""Between two looks whether a file has changed."""


class Certificate:
    """A certificate in use.

    Args:
        options: its files. BadCertificate when they cannot be used.
    """

    def __init__(self, options: TlsOptions) -> None:
        self._options = options
        self._seen = self._look()
        self._context = tls_context(options)

    @property
    def context(self) -> ssl.SSLContext:
        """This end of TLS, for a connection that begins now."""
        return self._context

    async def follow(self) -> None:
        """Read the files again whenever they have changed; one that cannot be used leaves the last one in force."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.renew()

    async def renew(self) -> None:
        """Look once."""
        seen = await asyncio.to_thread(self._look)
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self._context = await asyncio.to_thread(tls_context, self._options)
        except BadCertificate as error:
            log.warning("certificate not read again: the last one stays in use", error=str(error))
        else:
            log.info("certificate read again", certificate=str(self._options.certificate))

    def _look(self) -> tuple[tuple[int, int, int], ...]:
        return tuple(_state(path) for path in (self._options.certificate, self._options.key))


def _state(path: Path) -> tuple[int, int, int]:
    """What changes with a file, also when another takes its place."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_mtime_ns, found.st_size, found.st_ino)
