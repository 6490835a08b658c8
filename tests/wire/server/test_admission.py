"""What is let through of a frame, and what it counts for."""

from __future__ import annotations

from wire.codec import encode
from wire.limits import WireLimits
from wire.messages import RunResult
from wire.server.admission import admit
from wire.server.types import Identity, Incoming, Limits


def test_a_refused_result_is_counted_and_takes_no_memory_in_the_queue() -> None:
    refused: list[str] = []
    known = Identity(id="a", state="accepted")
    result = RunResult(run_id="r", kind="call", generation=0, digest="", outcome="ok", value="x" * 5_000_000)
    borders = WireLimits(minion_refused=refused.append)
    found = admit(encode(result), key="k", identity=known, limits=Limits(), borders=borders)
    assert isinstance(found, Incoming)
    assert (found.size, refused) == (0, ["result-message-bytes"])
