from __future__ import annotations

import math
import random

import pytest

from warehouse.store import Warehouse


def at_most(k: int, n: int, p: float) -> float:
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


@pytest.mark.parametrize(
    ("k", "n", "upper"),
    # R: binom.test(k, n, alternative = "less")$conf.int[2]
    [(0, 20, 0.1391083), (1, 20, 0.2161062), (2, 10, 0.5069013), (0, 1, 0.95), (5, 5, 1.0), (3, 3, 1.0)],
)
def test_the_upper_bound_of_a_share_is_clopper_and_pearsons(warehouse: Warehouse, k: int, n: int, upper: float) -> None:
    (found,) = warehouse.one("SELECT upper_share_95(?::BIGINT, ?::BIGINT)", [k, n])
    assert found == pytest.approx(upper, abs=1e-7)


def test_the_upper_bound_of_none_is_what_the_power_says(warehouse: Warehouse) -> None:
    for n in (1, 5, 20, 150, 5000):
        (found,) = warehouse.one("SELECT upper_share_95(0::BIGINT, ?::BIGINT)", [n])
        assert found == pytest.approx(1 - 0.05 ** (1 / n), rel=1e-9)


def test_at_the_upper_bound_so_few_happen_one_time_in_twenty(warehouse: Warehouse) -> None:
    random_ = random.Random(5)
    for _ in range(15):
        n = random_.randint(2, 300)
        k = random_.randint(0, n - 1)
        (found,) = warehouse.one("SELECT upper_share_95(?::BIGINT, ?::BIGINT)", [k, n])
        assert at_most(k, n, found) == pytest.approx(0.05, rel=1e-6)


def test_of_nothing_there_is_no_bound(warehouse: Warehouse) -> None:
    assert warehouse.one("SELECT upper_share_95(0::BIGINT, 0::BIGINT)") == (None,)


@pytest.mark.parametrize(
    ("freedom", "t"),
    [(1, 12.70620), (2, 4.30265), (10, 2.22814), (30, 2.04227), (31, 2.03951), (60, 2.00030), (120, 1.97993)],
)
def test_quantiles_of_student_are_those_of_the_tables(warehouse: Warehouse, freedom: int, t: float) -> None:
    (found,) = warehouse.one("SELECT student_t_975(?::BIGINT)", [freedom])
    assert found == pytest.approx(t, abs=2e-5)
    assert warehouse.one("SELECT student_t_975(0::BIGINT)") == (None,)
