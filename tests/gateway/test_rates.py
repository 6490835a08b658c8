"""Buckets of tokens: a burst, then a rate, each key for itself."""

from gateway.rates import TokenBuckets


def test_a_burst_and_then_a_rate():
    buckets = TokenBuckets(rate=2.0, burst=3)
    assert [buckets.take("a", 0.0) for _ in range(4)] == [True, True, True, False]
    assert buckets.take("b", 0.0), "another one has its own"
    assert [buckets.take("a", 1.0) for _ in range(3)] == [True, True, False]


def test_what_was_spent_beyond_is_waited_for():
    buckets = TokenBuckets(rate=0.5, burst=1.0)
    buckets.spend("a", 2.0, 0.0)
    assert buckets.wait("a", 0.0) == 2.0
    assert buckets.wait("a", 2.0) == 0.0
    assert not buckets.take("a", 3.0)


def test_nobody_waits_longer_than_is_said():
    buckets = TokenBuckets(rate=50.0, burst=100.0, longest=5.0)
    buckets.spend("a", 1_000_000.0, 0.0)
    assert buckets.wait("a", 0.0) == 5.0


def test_keys_are_forgotten_when_there_are_many():
    buckets = TokenBuckets(rate=1.0, burst=1.0)
    for key in range(30_000):
        assert buckets.take(key, 0.0)
    assert len(buckets._levels) <= 10_000
