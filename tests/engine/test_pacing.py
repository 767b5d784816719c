from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specs.models import Rate
from tasks.engine.pacing import arrival_offsets

rates = st.floats(0.1, 10_000, allow_nan=False)


@given(rate=rates, count=st.integers(0, 500))
def test_constant_arrivals_begin_at_zero_and_keep_their_distance(rate: float, count: int) -> None:
    offsets = arrival_offsets(Rate(rate=rate), count, 1)
    assert offsets == [pytest.approx(index / rate) for index in range(count)]


@given(rate=rates, count=st.integers(0, 500), seed=st.integers(0, 2**31))
def test_poisson_arrivals_ascend_and_depend_on_the_seed_alone(rate: float, count: int, seed: int) -> None:
    pacing = Rate(rate=rate, arrivals="poisson")
    offsets = arrival_offsets(pacing, count, seed)
    assert offsets == sorted(offsets) == arrival_offsets(pacing, count, seed)
    assert len(offsets) == count
    if count > 5:
        assert offsets != arrival_offsets(pacing, count, seed + 1)


def test_poisson_arrivals_have_the_rate_that_was_asked_for() -> None:
    """The mean of 20,000 exponential gaps is within four standard errors of 1/rate."""
    offsets = arrival_offsets(Rate(rate=50, arrivals="poisson"), 20_000, 7)
    assert offsets[-1] / 20_000 == pytest.approx(1 / 50, rel=4 / 20_000**0.5)
