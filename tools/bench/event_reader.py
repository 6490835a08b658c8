"""Reads events from the socket of a controller, as a program of somebody else would: `event_paths` runs it.

    python event_reader.py SOCKET COUNT

Says `ready` after the first event, then how many of `salt/beacon/` it has, each thousand, until it has COUNT.
"""

from __future__ import annotations

import json
import socket
import sys


def main(path: str, count: int) -> None:
    """Read until all are there; SystemExit when some were dropped."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(b"GET /api/v1/events?tag=* HTTP/1.1\r\nHost: controller\r\n\r\n")
        seen = 0
        for line in connection.makefile("rb"):
            if not line.startswith(b"{"):
                continue  # the head of the answer, and the lengths of its chunks
            tag = json.loads(line)["tag"]
            if tag == "bench/hello" and not seen:
                sys.stdout.write("ready\n")
                sys.stdout.flush()
            elif tag == "saltern/events/dropped":
                sys.exit("events were dropped")
            elif tag.startswith("salt/beacon/"):
                seen += 1
                if not seen % 1000:
                    sys.stdout.write(f"{seen}\n")
                    sys.stdout.flush()
                if seen == count:
                    return


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
