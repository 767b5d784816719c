"""When attempts are due: a schedule computed before the load, the same for the same seed everywhere."""

from __future__ import annotations

from itertools import accumulate
from random import Random

from specs.models import Rate


def arrival_offsets(rate: Rate, count: int, seed: int | str) -> list[float]:
    """Due times of `count` attempts, in seconds from one origin, ascending.

    Constant arrivals are 1/rate apart and begin at 0. Poisson arrivals have exponential gaps of
    mean 1/rate, the first included.
    """
    if rate.arrivals == "constant":
        return [index / rate.rate for index in range(count)]
    random = Random(seed)
    return list(accumulate(random.expovariate(rate.rate) for _ in range(count)))
