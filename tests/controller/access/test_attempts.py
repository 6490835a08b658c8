"""How often something is tried: strangers choose the names, and must not choose what it costs or who is forgotten."""

import tracemalloc

from controller.access.attempts import CountedTries


def test_so_many_in_a_minute():
    now = [0.0]
    attempts = CountedTries(2, lambda: now[0])
    assert [attempts.is_one_too_many("a") for _ in range(3)] == [False, False, True]
    assert not attempts.is_one_too_many("b")
    now[0] = 60.0
    assert not attempts.is_one_too_many("a")


def test_other_names_do_not_make_one_forgotten():
    """10,000 invented names had all counts begin anew."""
    attempts = CountedTries(1, lambda: 0.0)
    for number in range(12_000):
        attempts.is_one_too_many(f"invented {number}")
        if number % 1000 == 0:
            attempts.is_one_too_many("ada")
    assert attempts.is_one_too_many("ada")


def test_long_names_take_no_memory():
    """A name had up to 64 KiB, of which 10,000 were kept."""
    attempts = CountedTries(1, lambda: 0.0)
    tracemalloc.start()
    for number in range(2_000):
        attempts.is_one_too_many(f"{number}" + "x" * 60_000)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 10_000_000
