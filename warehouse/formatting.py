"""Figures as people read them: with units, with no more digits than they carry."""

from __future__ import annotations

import json
import re
from typing import Any

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_SIZES = {
    "": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40,
}  # fmt: skip


def seconds_of(text: str) -> float:
    """Seconds of a duration such as `500ms` or `4s`.

    Raises:
        ValueError: it is none.
    """
    number, unit = _quantity(text, "ms|s|m|h", "a duration")
    return number * _UNITS[unit]


def bytes_of(text: Any) -> float:
    """Bytes of a size such as `20Mi`, or of a plain number.

    Raises:
        ValueError: it is none.
    """
    number, unit = _quantity(text, "[kMGT]|[KMGT]i|", "a size")
    return number * _SIZES[unit]


def millicores_of(text: Any) -> float:
    """Thousandths of a core of `500m`, or of a number of cores.

    Raises:
        ValueError: it is none.
    """
    number, unit = _quantity(text, "m?", "an amount of CPU")
    return number * (1 if unit else 1000)


def _quantity(text: Any, units: str, what: str) -> tuple[float, str]:
    """A number and its unit."""
    found = re.fullmatch(rf"([\d.]+)({units})", str(text))
    if not found:
        raise ValueError(f"{text!r} is not {what}")
    return float(found[1]), found[2]


def show_seconds(value: float | None, *, censored: bool = False) -> str:
    """A time: milliseconds below a second, else seconds with three digits; `–` for a missing one."""
    if value is None:
        return "–"
    if value < 0.9995:
        shown = f"{value * 1000:.0f} ms" if value >= 0.0095 else f"{value * 1000:.2g} ms"
    else:
        shown = f"{value:.3g} s" if value < 1000 else f"{value:.0f} s"
    return f"> {shown}" if censored else shown


def show_bytes(value: float | None) -> str:
    """A size in binary units with three digits; `–` for a missing one."""
    if value is None:
        return "–"
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}" if abs(value) < 1000 * size else f"{value / size:.0f} {unit}"
    return f"{value:.0f} B"


def show_cpu(millicores: float) -> str:
    """A CPU limit as a scenario writes it."""
    return f"{millicores / 1000:g}" if millicores % 1000 == 0 else f"{millicores:g}m"


def show_share(value: float | None) -> str:
    """A share in percent with three digits; `–` for a missing one."""
    return "–" if value is None else f"{value * 100:.3g}%"


def show_in(unit: str, value: float | None) -> str:
    """A figure in one of the units of `warehouse.figures.unit_of`; `–` for a missing one."""
    if value is None:
        return "–"
    if unit == "seconds":
        return show_seconds(value)
    if unit == "bytes":
        return show_bytes(value)
    if unit == "count":
        return f"{value:,.10g}"
    return f"{show_number(value)} {'per s' if unit == 'per second' else unit}"


def show_number(value: float) -> str:
    """A plain number with three digits, or more where it is large."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}"


def show_count(value: Any) -> str:
    """A count with separators; `–` for a missing one."""
    return "–" if value is None else f"{value:,}"


def show_size(record: dict[str, Any]) -> str:
    """The size of a sandbox, from columns `cpu_millicores` and `memory_bytes`."""
    if record["cpu_millicores"] is None or record["memory_bytes"] is None:
        return "unknown size"
    return f"{show_cpu(record['cpu_millicores'])} CPU, {show_bytes(record['memory_bytes'])}"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th, 21st."""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def operation_name(record: dict[str, Any]) -> str:
    """An operation with its program and the way of starting, as a table names it."""
    name = f"{record['operation']} {record['program']}" if record["program"] else str(record["operation"])
    return f"{name} ({record['how']})" if record["how"] else name


def matrix_text(matrix: Any) -> str:
    """The matrix values of a trial, for people."""
    values = json.loads(matrix) if isinstance(matrix, str) else matrix or {}
    return ", ".join(f"{key} {value}" for key, value in values.items()) or "–"


def trial_text(record: dict[str, Any]) -> str:
    """What sets a trial apart: its matrix values, and its repetition where there are several."""
    text = matrix_text(record["matrix"])
    return f"{text}, repetition {record['repetition']}" if record["repetitions"] > 1 else text
