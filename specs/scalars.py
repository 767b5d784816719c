"""What a plain (unquoted) scalar means, and which ones are refused because readers disagree on them."""

from __future__ import annotations

import re
from typing import Any

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,18}")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "false": False}
_SPOKEN_TRUE = frozenset({"yes", "on", "y", "true"})
_SPOKEN_FALSE = frozenset({"no", "off", "n", "false"})
_EXPONENT = re.compile(r"[-+]?(?:[0-9][0-9_]*)?\.?[0-9]+[eE][-+]?[0-9]+")
_BASED = re.compile(r"[-+]?0[xob][0-9a-fA-F_]+")
_CLOCK = re.compile(r"[-+]?[0-9]+(?::[0-9]{1,2})+(?:\.[0-9]*)?")
_SPECIAL = re.compile(r"[-+]?\.(?:inf|nan)", re.IGNORECASE)
_NUMBER_LIKE = re.compile(r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)")


def read_plain(text: str) -> tuple[Any, str | None]:
    """The value of a plain scalar, and what is wrong with it, if anything."""
    if _INTEGER.fullmatch(text):
        return int(text), None
    if _DECIMAL.fullmatch(text):
        return float(text), None
    if text in _NULLS:
        return None, None
    if text in _BOOLEANS:
        return _BOOLEANS[text], None
    return text, _fault(text)


def _fault(text: str) -> str | None:
    word = text.lower()
    if word in _SPOKEN_TRUE | _SPOKEN_FALSE:
        return f"`{text}` is true, false or text to different readers; quote it or write true/false"
    if text == "<<":
        return "merge keys (<<) are not allowed; write the keys out"
    for pattern in (_EXPONENT, _BASED, _CLOCK, _SPECIAL, _NUMBER_LIKE):
        if pattern.fullmatch(text):
            return f"`{_short(text)}` is a number to some readers only; {_remedy(text)}"
    return None


def _remedy(text: str) -> str:
    """How to write the number that was meant, where that is plain."""
    if _EXPONENT.fullmatch(text) and len(text) < 10 and abs(int(re.split("[eE]", text)[1])) < 10:
        return f"write {_decimal(float(text))} or quote it"
    if re.fullmatch(r"\+?[1-9][0-9_]{0,15}", text):
        return f"write {text.replace('_', '').lstrip('+')} or quote it"
    if re.fullmatch(r"\.[0-9]{1,15}", text):
        return f"write 0{text} or quote it"
    return "write plain decimal digits or quote it"


def _decimal(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:.12f}".rstrip("0")


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def read_key(text: str) -> str | None:
    """What is wrong with a plain scalar as a key, if anything: keys are names, and read as written."""
    if text == "<<":
        return "merge keys (<<) are not allowed; write the keys out"
    if text in _NULLS:
        return "a key is missing before `:`"
    if text in _BOOLEANS or _INTEGER.fullmatch(text) or _DECIMAL.fullmatch(text):
        return f"the key `{_short(text)}` is not text; quote it"
    return None
