"""The report in a real browser: nothing sticks out, no label is cut off, every picture has its words."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.warehouse.published_runs import control_plane_run, neighbours_run, storm_run, wake_burst_run, wake_run
from tests.warehouse.segments import RunMaker, density_run, latency_run
from warehouse.checks import answer_checks
from warehouse.report import write_report
from warehouse.store import Warehouse

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# The page as the browser laid it out. Two pixels of grace for rounding.
MEASURE = """
<script>
addEventListener("load", () => {
  const cut = [], svgs = [...document.querySelectorAll("svg[role=img]")];
  for (const svg of svgs) {
    const frame = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 2 || box.right > frame.right + 2 || box.top < frame.top - 2 ||
          box.bottom > frame.bottom + 2) cut.push(text.textContent);
    }
  }
  const named = svgs.map(svg => svg.getAttribute("aria-labelledby").split(" ").length);
  const measured = {page: document.documentElement.scrollWidth, window: innerWidth, cut, named};
  document.body.innerHTML = "";  // only the measures are printed
  document.body.dataset.measured = JSON.stringify(measured);
});
</script>
"""


def laid_out(page: Path, width: int, profile: Path) -> dict[str, Any]:
    probe = page.with_name("probe.html")
    probe.write_text(page.read_text().replace("</body>", f"{MEASURE}</body>"))
    done = subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--dump-dom",
            "--virtual-time-budget=5000", f"--user-data-dir={profile}", f"--window-size={width},1200", probe.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    found = re.search(r'data-measured="([^"]*)"', done.stdout)
    assert found, done.stderr[-2000:]
    measured: dict[str, Any] = json.loads(html.unescape(found[1]))
    return measured


@pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get("SANDGAUGE_REQUIRE_ALL"), reason="needs Chromium (apt-get install chromium)"
)
@pytest.mark.parametrize(
    ("made", "width"),
    [
        (density_run(), 1100),
        (density_run(), 500),
        (latency_run(), 1100),
        (wake_run(lose=True), 1100),
        (wake_burst_run(), 1100),
        (control_plane_run(), 1100),
        (neighbours_run(), 1100),
        (neighbours_run(), 500),
        (storm_run(fates={3: "stuck"}), 1100),
    ],
    ids=lambda value: value.scenario if isinstance(value, RunMaker) else str(value),
)
def test_nothing_sticks_out_and_no_label_is_cut(
    results: Path, warehouse: Warehouse, tmp_path: Path, made: RunMaker, width: int
) -> None:
    warehouse.land(made.write(results))
    answer_checks(warehouse, made.run_id)
    page = write_report(warehouse, made.run_id, results / "runs" / made.run_id)
    measured = laid_out(page, width, tmp_path / "profile")
    assert measured["page"] <= measured["window"]
    assert measured["cut"] == []
    assert set(measured["named"]) == {2}
