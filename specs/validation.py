"""Pydantic's errors as located problems in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError
from pydantic_core import ErrorDetails

from specs.tree import Loc

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong at one path of a document; `key` when the key is at fault, not its value."""

    path: Loc
    message: str
    key: bool = False


def validate(model: type[M], data: Any) -> tuple[M | None, list[Fault]]:
    """The model, or what keeps it from being one."""
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        faults = [_fault(model, data, details) for details in error.errors(include_url=False)]
        return None, list(dict.fromkeys(faults))


def near(name: object, known: Iterable[str]) -> str:
    """`; did you mean X?` when something known is near."""
    found = get_close_matches(str(name)[:80], list(known), n=1, cutoff=0.6)
    return f"; did you mean `{found[0]}`?" if found else ""


def shown(value: Any) -> str:
    """A value as a message names it."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text {clip(repr(value))}"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, dict):
        return (
            clip(f"a mapping of {', '.join(key for key in value if chr(0) not in key)}")
            if value
            else "an empty mapping"
        )
    return f"the number {value}"


def clip(text: str) -> str:
    """A text, cut where it would fill a message."""
    return text if len(text) <= 60 else text[:57] + "..."


def _fault(model: type[BaseModel], data: Any, error: ErrorDetails) -> Fault:
    loc = error["loc"]
    kind = error["type"]
    path, rest = _descend(data, loc)
    if kind == "extra_forbidden":
        holder = _model_at(model, loc[:-1]) or model
        return Fault(path, f"unknown key `{clip(str(loc[-1]))}`" + near(loc[-1], list(holder.model_fields)), key=True)
    if kind == "missing":
        return Fault(path, f"the key `{loc[-1]}` is missing")
    if "[key]" in rest and kind == "literal_error":
        return Fault(path, _message(error), key=True)
    if "[key]" in rest:
        return Fault(path, f"{clip(repr(path[-1]))} is not a name; {_NAME}", key=True)
    return Fault(path, _message(error))


def _descend(data: Any, loc: Loc) -> tuple[Loc, Loc]:
    """The part of a place that exists in the data, and the parts, such as a union's tags, that do not."""
    path: list[str | int] = []
    rest: list[str | int] = []
    for part in loc:
        inside = (isinstance(data, dict) and part in data) or (
            isinstance(data, list) and isinstance(part, int) and part < len(data)
        )
        if inside:
            data = data[part]
            path.append(part)
        else:
            rest.append(part)
    return tuple(path), tuple(rest)


def _model_at(kind: Any, loc: Loc) -> type[BaseModel] | None:
    """The model that describes the mapping at a place."""
    for part in loc:
        kind = _inner(kind, part)
    for _ in range(4):
        if get_origin(kind) is Annotated:
            kind = get_args(kind)[0]
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _inner(kind: Any, part: str | int) -> Any:
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _inner(args[0], part)
    if origin in (Union, UnionType):
        tagged = [arm for arm in args if Tag(str(part)) in getattr(arm, "__metadata__", ())]
        plain = [arm for arm in args if arm is not type(None)]
        return tagged[0] if tagged else _inner(plain[0], part)
    if origin in (list, dict):
        return args[-1]
    if isinstance(kind, type) and issubclass(kind, BaseModel) and part in kind.model_fields:
        return kind.model_fields[str(part)].annotation
    return kind


_NAME = "write small letters, digits and dashes, beginning with a letter, at most 40"
_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}
_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


# Words of the language that do not stand alone.
_COMPLETE = {
    "exec": "; write {exec: [program, ...]}",
    "load": "; write load: {group: ..., do: [...]}",
}


def _message(error: ErrorDetails) -> str:
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "value_error":
        return _value_error(str(context["error"]), value)
    if kind in _EXPECTED:
        hint = ""
        if kind == "string_type" and isinstance(value, int | float):
            hint = "; quote it"
        return f"expected {_EXPECTED[kind]}, found {shown(value)}{hint}"
    if kind == "literal_error":
        choices = context["expected"]
        hint = _COMPLETE.get(value if isinstance(value, str) else "") or near(value, re.findall("[a-z_-]+", choices))
        return f"expected {choices.replace(chr(39), '')}, found {shown(value)}{hint}"
    if kind == "expected":
        hint = near(value, re.findall("[a-z_]+", error["msg"])) if isinstance(value, str) else ""
        return f"{error['msg']}, found {shown(value)}{hint}"
    if kind == "string_pattern_mismatch":
        return _pattern(str(context["pattern"]), value)
    if kind in ("too_short", "string_too_short"):
        return "must not be empty"
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"must be {words} {context[key]}, found {value}"
    return f"{error['msg'][:1].lower()}{error['msg'][1:]}"


def _value_error(message: str, value: Any) -> str:
    """Messages of this project's own validators, which do not all know what was found."""
    return f"{message}, found {shown(value)}" if message.startswith("expected") else message


def _pattern(pattern: str, value: Any) -> str:
    text = clip(repr(value))
    if pattern.startswith("^[a-z]"):
        return f"{text} is not a name; {_NAME}"
    if "density" in pattern:
        return (
            f"{text} is not a figure; write OPERATION.FIGURE, such as resume.p50 or create.failed, or density.running"
        )
    return f"{text} does not match {pattern}"
