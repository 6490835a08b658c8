"""The files of the document that a minion may have to go back to when no controller is reached to ask for them."""

from __future__ import annotations

import logging
from pathlib import Path

from minion.spool.confirmed import confirmed_documents
from minion.spool.files import BlobCache, Controller, HeldFiles, contents_of
from minion.spool.journal import Request
from wire.messages import Run

log = logging.getLogger(__name__)


def keep_confirmed(cachedir: Path, request: Request, controller: Controller) -> None:
    """Have them in the cache before a run that somebody has to confirm.

    What cannot be had is logged, and keeps no push from being applied.
    """
    if not isinstance(request, Run) or request.test or request.own is not None:
        return
    for each in confirmed_documents(cachedir):
        try:
            HeldFiles(each, BlobCache(cachedir), controller).keep()
        except OSError as error:
            log.warning("event=confirmed_files_missing error=%s", error)


def pinned(cachedir: Path) -> list[str]:
    """Ids of their contents, which stay in the cache."""
    return [oid for each in confirmed_documents(cachedir) for oid in contents_of(each.files, each.modules)]
