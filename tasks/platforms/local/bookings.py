"""What running sandboxes book of what the target allows."""

from __future__ import annotations

from specs.quantities import format_cpu, format_memory
from tasks.platforms.base import Booking, Refused, SandboxSpec


class Bookings:
    """Counts CPU limits in millicores and memory limits in bytes."""

    def __init__(self, cpu_millicores: int, memory_bytes: int) -> None:
        self._allocatable = {"cpu": cpu_millicores, "memory": memory_bytes}
        self._booked = {"cpu": 0, "memory": 0}

    def require_room(self, spec: SandboxSpec) -> None:
        """Make sure that a sandbox fits beside those that run.

        Raises:
            Refused: it does not.
        """
        for resource, wanted in _amounts(spec).items():
            booked, allocatable = self._booked[resource], self._allocatable[resource]
            if booked + wanted > allocatable:
                show = format_cpu if resource == "cpu" else format_memory
                raise Refused(
                    f"no worker has room: {show(wanted)} of {resource} asked for, "
                    f"{show(booked) if booked else 0} of {show(allocatable)} booked",
                    resource,
                )

    def take(self, spec: SandboxSpec, *, checked: bool = True) -> None:
        """Book for a sandbox; unchecked for one that runs already.

        Raises:
            Refused: it does not fit.
        """
        if checked:
            self.require_room(spec)
        for resource, amount in _amounts(spec).items():
            self._booked[resource] += amount

    def release(self, spec: SandboxSpec) -> None:
        """Give back what a sandbox had booked."""
        for resource, amount in _amounts(spec).items():
            self._booked[resource] -= amount

    def show(self) -> list[Booking]:
        """All bookings."""
        units = {"cpu": "millicores", "memory": "bytes"}
        return [Booking(key, self._booked[key], self._allocatable[key], units[key]) for key in units]


def _amounts(spec: SandboxSpec) -> dict[str, int]:
    return {"cpu": spec.cpu_millicores, "memory": spec.memory_bytes}
