"""The queries of `queries/`, by name. What many ask is a view instead, in `views/`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def query(name: str) -> str:
    """The text of `queries/NAME.sql`."""
    return (files("warehouse") / "queries" / f"{name}.sql").read_text()
