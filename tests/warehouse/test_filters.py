"""What narrows a figure is said where scenarios are checked, and again where it is worked out: both must agree."""

from __future__ import annotations

import pytest

from specs.figures import FIGURES, filters_of
from warehouse import figures


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_is_narrowed_by_what_scenarios_may_say(figure: str) -> None:
    _, filters = figures._ways(*figure.split("."))
    assert set(filters) == set(filters_of(figure))
