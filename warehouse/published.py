"""What others have published, to compare shapes with: `reference/NAME.csv`, described by `reference/NAME.json`.

The figures are in the table `reference`, made anew whenever one of these files has changed. They
come from other machines and versions, so that they are shown beside a run and never as its target.
"""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

from warehouse.errors import WarehouseError

if TYPE_CHECKING:
    from warehouse.store import Warehouse  # which fills the table with what is here

_BASES = {"ms": ("s", 0.001), "MiB": ("bytes", 2**20), "GiB": ("bytes", 2**30), "GB": ("bytes", 10**9)}


@dataclass(frozen=True, slots=True)
class Published:
    """A series of published figures: which rows of the table, and where each stands on an axis.

    Attributes:
        test: the test of the publication.
        condition: a pattern of whole conditions, whose group `x` is the place on the axis.
        metric: what was measured.
        source: the publication.
    """

    test: str
    condition: str
    metric: str
    source: str = "ax-eks-two-nodes"

    def points(self, warehouse: Warehouse) -> list[tuple[str, float]]:
        """Places on the axis and values there, in seconds, bytes or plain numbers, as they were published."""
        rows = warehouse.rows(
            "SELECT condition, value, unit FROM reference WHERE source = ? AND test = ? AND metric = ?",
            [self.source, self.test, self.metric],
        )
        found = [(re.fullmatch(self.condition, condition), in_base(value, unit)) for condition, value, unit in rows]
        return [(match["x"], value) for match, (value, _) in found if match]


def in_base(value: float, unit: str) -> tuple[float, str]:
    """A value in seconds or bytes where it is a time or a size, else as it is; with that unit."""
    base, factor = _BASES.get(unit, (unit, 1))
    return value * factor, base


def title_of(warehouse: Warehouse, source: str = "ax-eks-two-nodes") -> str:
    """What a publication is called."""
    return str(warehouse.one("SELECT title FROM reference WHERE source = ? LIMIT 1", [source])[0])


def conditions_of(warehouse: Warehouse, source: str) -> dict[str, str]:
    """Hardware, versions, vantage point and method of a publication."""
    rows = warehouse.rows("SELECT conditions FROM reference WHERE source = ? LIMIT 1", [source])
    return dict(json.loads(rows[0][0])) if rows else {}


def read_published(folder: Traversable | None = None) -> list[list[Any]]:
    """The rows of the table `reference`, of every file of a folder.

    Raises:
        WarehouseError: a file has no description beside it, or a value is no number.
    """
    folder = folder or files("warehouse") / "reference"
    rows: list[list[Any]] = []
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if not file.name.endswith(".csv"):
            continue
        try:
            about = json.loads((folder / f"{file.name.removesuffix('.csv')}.json").read_text(encoding="utf-8"))
            shared = [about["source"], about["title"], json.dumps(about["conditions"])]
            rows += [
                [*shared, line["test"], line["condition"], line["metric"], float(line["value"]), line["unit"]]
                for line in csv.DictReader(io.StringIO(file.read_text(encoding="utf-8")))
            ]
        except (OSError, ValueError, KeyError) as error:
            raise WarehouseError(f"reference {file.name}: {type(error).__name__}: {error}") from error
    return rows


def published_script() -> str:
    """The statements that fill the table anew."""
    values = ",\n".join(f"({', '.join(_literal(value) for value in row)})" for row in read_published())
    return (
        f"DELETE FROM reference;\nINSERT INTO reference VALUES\n{values};\n" if values else "DELETE FROM reference;\n"
    )


def _literal(value: Any) -> str:
    return repr(value) if isinstance(value, float) else "'" + str(value).replace("'", "''") + "'"
