"""Quantities: read back as written, and as Kubernetes reads them."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.utils.quantity import parse_quantity

from specs.quantities import (
    format_cpu,
    format_duration,
    format_memory,
    parse_cpu,
    parse_duration,
    parse_memory,
)

numbers = st.from_regex(r"[0-9]{1,6}(\.[0-9]{1,3})?", fullmatch=True)


def kubernetes(text: str) -> Decimal:
    return Decimal(parse_quantity(text))  # type: ignore[no-untyped-call]


@given(st.integers(1, 10**9))
def test_cpu_round_trip(millicores: int) -> None:
    assert parse_cpu(format_cpu(millicores)) == millicores


@given(st.integers(1, 2**60))
def test_memory_round_trip(size: int) -> None:
    assert parse_memory(format_memory(size)) == size


@given(st.floats(0, 10**9) | st.integers(0, 10**9).map(float))
def test_duration_round_trip(seconds: float) -> None:
    read = parse_duration(format_duration(seconds))
    assert math.isclose(read, seconds, rel_tol=1e-9, abs_tol=1e-9)


@given(st.integers(0, 10**12), st.sampled_from(["ms", "s", "m", "h"]))
def test_durations_mean_what_they_say(number: int, unit: str) -> None:
    scale = {"ms": Decimal("0.001"), "s": Decimal(1), "m": Decimal(60), "h": Decimal(3600)}[unit]
    assert parse_duration(f"{number}{unit}") == float(number * scale)


@given(numbers, st.sampled_from(["m", ""]))
def test_cpu_as_kubernetes_reads_it(number: str, suffix: str) -> None:
    expected = kubernetes(number + suffix) * 1000
    try:
        assert parse_cpu(number + suffix) == expected
    except ValueError:
        assert expected < 1 or expected % 1 != 0


@given(numbers, st.sampled_from(["k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"]))
def test_memory_as_kubernetes_reads_it(number: str, suffix: str) -> None:
    expected = kubernetes(number + suffix)
    try:
        # Kubernetes, too, knows no part of a byte; it rounds up where this rounds down.
        assert parse_memory(number + suffix) == int(expected)
    except ValueError:
        assert expected < 1


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (parse_cpu, parse_memory, parse_duration):
        try:
            assert parse(text) >= 0
        except ValueError as error:
            assert str(error)


@pytest.mark.parametrize(
    "value", [True, None, [], {}, "", "m", "1 ", " 1", "1\n", "-1", "1e3", "٣", float("nan"), 1e300]
)
def test_refused(value: object) -> None:
    for parse in (parse_cpu, parse_memory, parse_duration):
        with pytest.raises(ValueError, match=r"."):
            parse(value)
