"""The durability step against the model, in virtual time, where what happened to each snapshot is known."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from specs.models import Durability, Load
from specs.workloads import WORKLOADS
from tasks.engine.attempts import Attempts, Roster, nonce_of
from tasks.engine.durability import DurabilityRun
from tasks.engine.load import LoadRun
from tasks.engine.loops import EngineLoop
from tasks.engine.recorder import Recorder
from tasks.platforms.base import SandboxSpec
from tasks.platforms.simulated import SimulatedPlatform
from tests.engine.helpers import segment, target

NAMES = [f"box-{number}" for number in range(6)]
SPEC = SandboxSpec(100, 64 * 2**20, WORKLOADS["keeper"].argv())


@dataclass
class Watched:
    outcome: str
    ledger: dict[str, dict[str, Any]]
    writes: list[dict[str, Any]]
    attempts: list[dict[str, Any]]

    def states(self) -> set[str]:
        return {row["state"] for row in self.ledger.values()}


def watch(run_dir: Path, watch: dict[str, Any], **settings: Any) -> Watched:
    """Mark and suspend six sandboxes, and watch their snapshots."""

    async def work() -> str:
        platform = SimulatedPlatform(target(**{"upload_delay": "10s", "upload": {"median": "2s"}, **settings}))
        attempts = Attempts("run", recorder, asyncio.get_running_loop().time)
        roster = Roster()
        parts: dict[str, Any] = {
            "names": NAMES, "trial": 0, "step": 0, "seed": 7, "platform": platform, "attempts": attempts,
            "roster": roster, "progress": lambda outcome: None,
        }  # fmt: skip
        await platform.provision(frozenset({"store"}))
        do = ["create", "resume", {"exec": "mark"}, "suspend"]
        await LoadRun(load=Load.model_validate({"group": "boxes", "do": do}), spec=SPEC, **parts).run()
        step = Durability.model_validate({"group": "boxes", **watch})
        return await DurabilityRun(watch=step, run_id="run", recorder=recorder, **parts).run()

    with Recorder(run_dir) as recorder, EngineLoop(virtual=True) as engine:
        outcome = engine.submit(work()).result(timeout=60)
    writes = segment(run_dir, "snapshots")
    return Watched(outcome, {row["sandbox"]: row for row in writes}, writes, segment(run_dir, "attempts"))


def test_every_snapshot_becomes_durable_after_the_delay(tmp_path: Path) -> None:
    watched = watch(tmp_path, {"timeout": "5m"})
    assert watched.outcome == "finished"
    assert watched.states() == {"durable"}
    for row in watched.ledger.values():
        assert row["first_byte_s"] - row["suspended_s"] == pytest.approx(10, abs=0.01)
        assert row["suspended_s"] < row["first_byte_s"] < row["manifest_s"] <= row["durable_s"]
        assert row["durable_s"] - row["manifest_s"] <= 0.11  # it looks ten times a second
        assert row["checksum"] and row["objects"] and row["restored_s"] is None
    states = [row["state"] for row in watched.writes if row["sandbox"] == NAMES[0]]
    assert list(dict.fromkeys(states)) == ["local_only", "uploading", "durable"]


def test_a_sample_is_restored_from_the_store_alone_and_holds_its_nonces(tmp_path: Path) -> None:
    watched = watch(tmp_path, {"timeout": "5m", "restore": 3})
    sample = [row for row in watched.ledger.values() if row["restored_s"] is not None]
    assert len(sample) == 3
    assert all((row["files_ok"], row["memory_ok"]) == (True, True) for row in sample)
    made = [row["operation"] for row in watched.attempts if row["sandbox"] == sample[0]["sandbox"]]
    assert made[-3:] == ["resume", "exec", "delete"]
    again = watch(tmp_path / "again", {"timeout": "5m", "restore": 3})
    assert {row["sandbox"] for row in again.ledger.values() if row["restored_s"] is not None} == {
        row["sandbox"] for row in sample
    }


def test_more_than_there_are_restores_all(tmp_path: Path) -> None:
    watched = watch(tmp_path, {"timeout": "5m", "restore": 100})
    assert all(row["memory_ok"] for row in watched.ledger.values())


def test_what_is_written_and_not_whole_is_never_durable(tmp_path: Path) -> None:
    watched = watch(tmp_path, {"timeout": "1m"}, faults=[{"kind": "corrupt", "sandbox": "box-2"}])
    assert watched.outcome == "timed out"
    assert watched.ledger["box-2"]["state"] == "stuck"
    assert watched.ledger["box-2"]["durable_s"] is None
    assert watched.ledger["box-2"]["error"]
    assert not [row for row in watched.writes if row["sandbox"] == "box-2" and row["state"] == "durable"]
    assert {row["state"] for name, row in watched.ledger.items() if name != "box-2"} == {"durable"}


def test_a_lost_snapshot_is_told_and_does_not_keep_the_step_waiting(tmp_path: Path) -> None:
    watched = watch(tmp_path, {"timeout": "1h", "restore": 6}, faults=[{"kind": "lose", "sandbox": "box-1"}])
    assert watched.outcome == "finished"
    assert watched.ledger["box-1"]["state"] == "lost"
    assert watched.ledger["box-1"]["restored_s"] is None
    assert sum(row["memory_ok"] is True for row in watched.ledger.values()) == 5


def test_a_restored_sandbox_without_its_memory_is_told(tmp_path: Path) -> None:
    watched = watch(tmp_path, {"timeout": "5m", "restore": 6}, faults=[{"kind": "forget", "sandbox": "box-4"}])
    assert watched.ledger["box-4"]["memory_ok"] is False
    assert watched.ledger["box-4"]["state"] == "durable"
    assert sum(row["memory_ok"] is True for row in watched.ledger.values()) == 5


def test_snapshots_that_are_late_are_stuck(tmp_path: Path) -> None:
    watched = watch(tmp_path, {"timeout": "5s", "restore": 2})
    assert watched.outcome == "timed out"
    assert watched.states() == {"stuck"}
    assert not [row for row in watched.attempts if row["operation"] == "delete"]


def test_a_platform_that_says_durable_by_itself_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing_there(self: SimulatedPlatform, sandbox: str, generation: int) -> Any:
        from tasks.platforms.base import Verified

        return Verified(whole=False, problem="no manifest")

    monkeypatch.setattr(SimulatedPlatform, "verify_snapshot", nothing_there)
    watched = watch(tmp_path, {"timeout": "1m"})
    assert watched.states() == {"stuck"}
    assert {row["error"] for row in watched.ledger.values()} == {"no manifest"}


def test_nonces_differ_between_sandboxes_and_seeds() -> None:
    assert len({nonce_of(seed, name) for seed in (1, 2) for name in NAMES}) == 12
