"""Strangers fill no log: some refusals of each reason in a minute stand in it."""

from structlog.testing import capture_logs

from controller.messages.refusal_log import RefusalLog
from wire.server.types import Refusal


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_some_of_each_reason_in_a_minute_and_the_count_of_the_rest():
    clock = Clock()
    log = RefusalLog(most=3, clock=clock)
    with capture_logs() as logs:
        for _ in range(1000):
            log.refused(Refusal(reason="handshake-failed"))
        log.refused(Refusal(reason="malformed", id="web1", detail="a byte"))
    assert [each["reason"] for each in logs] == ["handshake-failed"] * 3 + ["malformed"]
    assert [each.get("note") for each in logs] == [None, None, "more of this minute are counted alone", None]
    assert (logs[-1]["minion"], logs[-1]["detail"]) == ("web1", "a byte")
    clock.now = 60.0
    with capture_logs() as logs:
        log.refused(Refusal(reason="handshake-failed"))
    assert [(each["event"], each.get("count")) for each in logs] == [
        ("more peers were refused", 997),
        ("wire refused a peer", None),
    ]
