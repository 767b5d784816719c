"""JSON Schemas, so that editors complete and check scenarios, targets and suites while they are written.

They say less than `specs.loading` does: what depends on other parts of a file, such as whether a
group exists, is found only there. `python -m specs.schema` writes the files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from specs.models import ScenarioFile
from specs.suites import SuiteFile
from specs.targets import Target

FOLDER = Path(__file__).parent
DRAFT = "https://json-schema.org/draft/2020-12/schema"
PLACEHOLDER = {"type": "string", "pattern": r"^.*\{\{.*\}\}.*$", "description": 'a placeholder, "{{ name }}"'}
# Read before any placeholder has a value.
_PLACELESS = ("name", "version", "size", "parameters", "sizes")
_BRANCHES = ("anyOf", "oneOf")


def scenario_schema() -> Any:
    """The schema of scenario files; a placeholder may stand wherever a scalar or a list may."""
    schema: dict[str, Any] = ScenarioFile.model_json_schema()
    schema["$defs"] = {name: _inside(part) for name, part in schema["$defs"].items()}
    schema["properties"] = {
        name: part if name in _PLACELESS else _open(part) for name, part in schema["properties"].items()
    }
    return _close({"$schema": DRAFT, **schema, "title": "Sandgauge scenario"})


def target_schema() -> Any:
    """The schema of target files."""
    return _close({"$schema": DRAFT, **TypeAdapter(Target).json_schema(), "title": "Sandgauge target"})


def suite_schema() -> Any:
    """The schema of suite files."""
    return _close({"$schema": DRAFT, **SuiteFile.model_json_schema(), "title": "Sandgauge suite"})


def _close(part: Any) -> Any:
    """The same schema, in which keys that are no names are refused: pydantic leaves them unchecked."""
    if isinstance(part, list):
        return [_close(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    closed = {key: _close(inner) for key, inner in part.items()}
    return {**closed, "additionalProperties": False} if "patternProperties" in part else closed


def _open(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that admits a placeholder, too, where its value is a scalar or a list."""
    inner = _inside(schema)
    if not _needs_placeholder(schema):
        return inner
    notes: dict[str, Any] = {key: inner.pop(key) for key in ("title", "description", "default") if key in inner}
    branches = inner["anyOf"] if inner.keys() == {"anyOf"} else [inner]
    return {**notes, "anyOf": [*branches, PLACEHOLDER]}


def _needs_placeholder(schema: dict[str, Any]) -> bool:
    """Whether a value is a scalar or a list, and is not any text already."""
    for key in _BRANCHES:
        if key in schema:
            return any(map(_needs_placeholder, schema[key])) and not any(map(_any_text, schema[key]))
    scalar = schema.get("type") in ("string", "integer", "number", "boolean", "array") or "const" in schema
    return scalar and not _any_text(schema)


def _any_text(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "string" and not schema.keys() & {"pattern", "enum", "const"}


def _inside(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema, open to placeholders in all its parts."""
    result = dict(schema)
    for key in ("properties", "patternProperties"):
        if key in result:
            result[key] = {name: _open(part) for name, part in result[key].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(result.get(key), dict):
            result[key] = _open(result[key])
    for key in _BRANCHES:
        if key in result:
            # A branch of a union is not opened itself: the union is, once.
            result[key] = [_inside(part) for part in result[key]]
    return result


def schema_files() -> dict[Path, str]:
    """The text of every schema file."""
    schemas = {"scenario": scenario_schema(), "target": target_schema(), "suite": suite_schema()}
    return {
        FOLDER / f"{name}.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in schemas.items()
    }


def main() -> None:
    """Write the schema files."""
    for path, text in schema_files().items():
        path.write_text(text, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
