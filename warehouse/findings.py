"""Sentences about wakes, phases, neighbours and durability, for the top of a report and for the terminal."""

from __future__ import annotations

from typing import Any

from warehouse.formatting import matrix_text, show_number, show_seconds, show_share, trial_text
from warehouse.sql import query
from warehouse.store import Warehouse


def wake_sentences(warehouse: Warehouse, run_id: str) -> list[str]:
    """How long requests waited, by matrix values, and whether state was kept."""
    records = warehouse.records(query("wake_latency"), {"run_id": run_id})
    if not any(record["n"] for record in records):
        return []
    told = [f"{_wake_place(record, records)} {_wake_p50(record)}" for record in records if record["n"]]
    sentences = [f"Wake p50: {', '.join(told)}."]
    refused, attempts = (sum(record[name] for record in records) for name in ("refused", "attempts"))
    if refused:
        sentences.append(f"{refused} of {attempts} requests were refused.")
    kept, lost = (sum(record[name] for record in records) for name in ("kept", "lost"))
    if kept + lost:
        sentences.append(f"State was lost in {lost} of {kept + lost} wakes that can tell.")
    else:
        sentences.append("Whether state was kept is not known: no sandbox answered twice.")
    return sentences


def _wake_place(record: dict[str, Any], records: list[dict[str, Any]]) -> str:
    place = matrix_text(record["matrix"])
    ways = {each["how"] for each in records if each["matrix"] == record["matrix"] and each["n"]}
    return f"{place} ({record['how'] or 'ran already'})" if len(ways) > 1 else place


def _wake_p50(record: dict[str, Any]) -> str:
    if record["p50_s"] is None:
        return f"withheld (n = {record['n']}, and it needs 5)"
    return show_seconds(record["p50_s"], censored=record["p50_censored"])


def phase_sentences(warehouse: Warehouse, run_id: str) -> list[str]:
    """Operations a second, where at least two phases had many more calls than were in flight."""
    records = warehouse.records(query("phases"), {"run_id": run_id})
    if sum(record["steady_per_s"] is not None for record in records) < 2:
        return []
    sentences = []
    for trial in dict.fromkeys(record["trial"] for record in records):
        mine = [record for record in records if record["trial"] == trial and record["ok_per_s"]]
        rates = [f"{record['operation']} {show_number(record['ok_per_s'])}" for record in mine]
        if rates:
            name = f" ({trial_text(mine[0])})" if len({record["trial"] for record in records}) > 1 else ""
            limits = " and ".join(str(limit) for limit in dict.fromkeys(record["in_flight_limit"] for record in mine))
            sentences.append(f"A second, with {limits} in flight{name}: {', '.join(rates)}.")
    peaks = warehouse.records(query("component_peaks"), {"run_id": run_id})
    known = [peak for peak in peaks if peak["peak_millicores"] is not None and peak["scope"] == "component"]
    if known:
        busiest = max(known, key=lambda peak: float(peak["peak_millicores"]))
        sentences.append(
            f"The busiest component was {busiest['component']} during {busiest['performed']}: "
            f"{busiest['peak_millicores']:,.0f} millicores."
        )
    return sentences


def slowdown_sentences(warehouse: Warehouse, run_id: str) -> list[str]:
    """What each kind of neighbour cost: programs by their own clock, suspends from outside."""
    records = warehouse.records(query("slowdown"), {"run_id": run_id})
    if not records:
        return []
    told = [
        record
        for record in records
        if record["clock"] == ("inside" if record["operation"] == "exec" else "outside")
        and record["operation"] in ("exec", "suspend")
    ]
    sentences = []
    for kind in dict.fromkeys((record["matrix_key"], record["matrix_value"]) for record in told):
        mine = [record for record in told if (record["matrix_key"], record["matrix_value"]) == kind]
        costs = [f"{record['measure']} took {_times(record)}" for record in mine]
        sentences.append(f"With {kind[0]} {kind[1]}, {', '.join(costs)}.")
    return [*sentences, "Each is a p50 against that without neighbours, in brackets its interval."] if told else []


def _times(record: dict[str, Any]) -> str:
    if record["ratio"] is None:
        return f"a time that is withheld ({record['reason']})"
    text = f"{record['ratio']:.3g} times as long"
    if record["ratio_low"] is not None and record["ratio_high"] is not None:
        text += f" ({record['ratio_low']:.3g} to {record['ratio_high']:.3g})"
    return text


def durability_sentences(warehouse: Warehouse, run_id: str) -> list[str]:
    """How many snapshots became durable and when, and what is known of losses."""
    sentences = []
    for record in warehouse.records(query("durability"), {"run_id": run_id}):
        if not record["snapshots"]:
            sentences.append("No snapshot was watched.")
            continue
        text = f"{record['durable']} of {record['snapshots'] + record['missing']} snapshots became durable"
        if record["all_durable_after_s"] is not None:
            text += f", the last {show_seconds(record['all_durable_after_s'])} after the first suspend"
        else:
            text += f"; {record['all_durable_reason']}"
        sentences.append(f"{text}.")
        known = record["durable"] + record["lost"]
        if known:
            upper = show_share(record["lost_upper_share"])
            sentences.append(f"Lost: {record['lost']} of {known}, so at most {upper} at 95% confidence.")
        if record["restored"]:
            sentences.append(
                f"{record['restored']} were restored from the store alone, {record['restored_right']} with both nonces."
            )
    return sentences
