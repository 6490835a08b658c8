"""What was said before is refused, as long as it could be taken for new."""

import pytest

from gateway.protocol.requests import MOST_AGE, MinionRequest, RequestRefused
from gateway.replays import READS, SaidBefore


def request(cmd, nonce):
    return MinionRequest(id="a", cmd=cmd, load={}, nonce=nonce, encryption="", signing="")


@pytest.mark.parametrize("cmd", ["_return", "_minion_event", "_mine", "minion_publish", "minion_runner", "_file_recv"])
def test_what_does_something_is_taken_once(cmd):
    said = SaidBefore()
    said.check(request(cmd, "1"), 0.0)
    said.check(request(cmd, "2"), 1.0)
    with pytest.raises(RequestRefused, match="was said before"):
        said.check(request(cmd, "1"), 2 * MOST_AGE)
    said.check(request(cmd, "1"), 2 * MOST_AGE + 1.5)


def test_what_reads_may_be_said_again():
    said = SaidBefore()
    for cmd in READS:
        said.check(request(cmd, "1"), 0.0)
        said.check(request(cmd, "1"), 0.0)
