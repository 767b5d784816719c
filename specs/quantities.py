"""Quantities with their units, as Kubernetes writes them, and durations as Go writes them.

A number without a unit is refused wherever a unit could be guessed wrongly: `memory: 64` is
64 bytes to Kubernetes, and `timeout: 5` could be anything.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

_MEMORY_UNITS = {
    "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40,
}  # fmt: skip
_DURATION_UNITS = {"ms": Decimal("0.001"), "s": Decimal(1), "m": Decimal(60), "h": Decimal(3600)}
_NUMBER = r"[0-9]{1,18}(?:\.[0-9]{1,9})?"
CPU_PATTERN = rf"^{_NUMBER}m?$"
MEMORY_PATTERN = rf"^{_NUMBER}(?:{'|'.join(_MEMORY_UNITS)})$"
DURATION_PATTERN = rf"^{_NUMBER}(?:{'|'.join(_DURATION_UNITS)})$"


def parse_cpu(value: Any) -> int:
    """CPU in millicores from `50m`, `0.25`, `"1"` or `2`.

    Raises:
        ValueError: not a CPU quantity, or finer than one millicore.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("expected CPU such as 50m, 0.5 or 2")
    text = str(value)
    if not re.fullmatch(CPU_PATTERN, text):
        raise ValueError(f"{text!r} is not a CPU quantity; write 50m, 0.5 or 2")
    millicores = Decimal(text[:-1]) if text.endswith("m") else Decimal(text) * 1000
    if millicores != int(millicores) or millicores < 1:
        raise ValueError(f"{text!r} is not a whole number of millicores of at least 1m")
    return int(millicores)


def parse_memory(value: Any) -> int:
    """Memory in bytes from `64Mi`, `1.5Gi` or `500M`; the suffix is required.

    Raises:
        ValueError: not a memory quantity with a suffix, or less than one byte.
    """
    text = str(value)
    found = re.fullmatch(rf"({_NUMBER})({'|'.join(_MEMORY_UNITS)})", text)
    if isinstance(value, bool) or not found:
        raise ValueError(f"{text!r} is not a memory quantity; write it with a unit, such as 64Mi or 2Gi")
    size = Decimal(found[1]) * _MEMORY_UNITS[found[2]]
    if size < 1:
        raise ValueError(f"{text!r} is less than one byte")
    return int(size)


def parse_duration(value: Any) -> float:
    """A duration in seconds from `500ms`, `30s`, `5m` or `1h`; the unit is required.

    Raises:
        ValueError: not a duration with a unit.
    """
    text = str(value)
    found = re.fullmatch(rf"({_NUMBER})({'|'.join(_DURATION_UNITS)})", text)
    if isinstance(value, bool) or not found:
        raise ValueError(f"{text!r} is not a duration; write it with a unit, such as 500ms, 30s or 5m")
    return float(Decimal(found[1]) * _DURATION_UNITS[found[2]])


def format_cpu(millicores: int) -> str:
    """The shortest quantity: 1000 gives `1`, 250 gives `250m`."""
    return str(millicores // 1000) if millicores % 1000 == 0 else f"{millicores}m"


def format_memory(size_bytes: int) -> str:
    """The shortest exact binary quantity: 67108864 gives `64Mi`; `k` and `1000`-based where binary is not exact."""
    for unit in ("Ti", "Gi", "Mi", "Ki", "T", "G", "M", "k"):
        if size_bytes >= _MEMORY_UNITS[unit] and size_bytes % _MEMORY_UNITS[unit] == 0:
            return f"{size_bytes // _MEMORY_UNITS[unit]}{unit}"
    return f"{Decimal(size_bytes) / 1000}k"


def format_duration(seconds: float) -> str:
    """Seconds as a duration that `parse_duration` reads back."""
    exact = Decimal(repr(seconds))
    if 0 < exact < 1:
        return f"{_plain(exact * 1000)}ms"
    return f"{_plain(exact)}s"


def _plain(number: Decimal) -> str:
    """Digits without an exponent, and no more of them than are read."""
    text = f"{number:.9f}"
    return text.rstrip("0").rstrip(".")


def _schema(pattern: str, description: str, *, numbers: bool = False) -> WithJsonSchema:
    text: dict[str, Any] = {"type": "string", "pattern": pattern}
    choices = [{"type": "number", "exclusiveMinimum": 0}, text] if numbers else [text]
    return WithJsonSchema({"anyOf": choices, "description": description})


# A quantity is parsed once on the way in and written in its own notation on the way out, so that
# a model dumped as JSON can be validated again.
Millicores = Annotated[
    int,
    BeforeValidator(parse_cpu),
    PlainSerializer(format_cpu, when_used="json"),
    _schema(CPU_PATTERN, "CPU in cores, or in millicores with the suffix m", numbers=True),
]
Bytes = Annotated[
    int,
    BeforeValidator(parse_memory),
    PlainSerializer(format_memory, when_used="json"),
    _schema(MEMORY_PATTERN, "memory with a unit, such as 64Mi"),
]
Seconds = Annotated[
    float,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, when_used="json"),
    _schema(DURATION_PATTERN, "a duration with a unit: 500ms, 30s, 5m, 1h"),
]
PositiveSeconds = Annotated[Seconds, Field(gt=0)]
