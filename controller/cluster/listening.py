"""Sockets that listen for the cluster's ports. Called by what serves them; accepts nothing."""

from __future__ import annotations

import contextlib
import socket

from controller.api.listening import CannotListen

_BACKLOG = 1024


def listen(host: str, port: int, option: str) -> socket.socket:
    """A socket that does not block; CannotListen, which names the option, when the port is taken."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    with contextlib.ExitStack() as undo:
        undo.callback(listener.close)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen(_BACKLOG)
        except OSError as error:
            raise CannotListen(f"{option} {port} of {host}: {error.strerror}; choose another {option}") from error
        listener.setblocking(False)
        undo.pop_all()
    return listener
