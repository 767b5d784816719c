"""Clean-up as a flow of its own, for a schedule: ends at zero after runs that could not."""

from __future__ import annotations

from pathlib import Path

from prefect import flow

from flows.cleaning import Cleaned, clean_target


@flow(name="clean", flow_run_name="clean {target}", persist_result=False)
async def clean(target: str = "local", results: Path = Path("results")) -> Cleaned:
    """Land what earlier runs left in their segments, and remove everything of ours from a target.

    Raises:
        tasks.platforms.base.Unavailable: a run is using the target.
    """
    return clean_target(target, results)
