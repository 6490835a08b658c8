"""By how much a clock was set."""

import time

from reactors.clock_steps import ClockSteps, boot_time, steady_beside


def test_a_step_is_told_once_and_a_correction_is_none():
    wall, steady = [1000.0], [5.0]
    steps = ClockSteps(lambda: wall[0], lambda: steady[0])
    wall[0], steady[0] = 1060.0, 65.0
    assert steps.taken() == 0.0
    wall[0] += 3600.0
    assert (steps.taken(), steps.taken()) == (3600.0, 0.0)
    wall[0] -= 7200.0
    assert (steps.taken(), steps.taken()) == (-7200.0, 0.0)
    wall[0] += 1.5
    assert steps.taken() == 0.0


def test_only_the_clock_of_the_machine_is_set_by_others():
    assert steady_beside(time.time) is boot_time
    own = lambda: 7.0  # noqa: E731
    assert steady_beside(own) is own
    assert boot_time() <= boot_time()
