"""A run's progress in the terminal: one line that moves, and one line a step when it has ended."""

from __future__ import annotations

from collections import Counter
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


class TerminalObserver:
    """Shows a run on a console; `tasks.session.Observer` says what it is told."""

    def __init__(self, console: Console, trials: int, name: str) -> None:
        self._console = console
        self._trials = trials
        self._name = name
        self._progress = Progress(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(),
            TextColumn("{task.fields[outcomes]}"), TimeElapsedColumn(), console=console, transient=True,
        )  # fmt: skip
        self._task = self._progress.add_task("starting", total=None, outcomes="")
        self._outcomes: Counter[str] = Counter()
        self._label = ""

    def __enter__(self) -> TerminalObserver:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def step_started(self, trial: int, label: str, attempts: int) -> None:
        """Begin a line."""
        self._outcomes.clear()
        self._label = f"{self._name}, trial {trial + 1} of {self._trials}: {label}"
        self._progress.reset(self._task, description=self._label, total=attempts or None, outcomes="")

    def attempt_ended(self, outcome: str) -> None:
        """Move the line on."""
        self._outcomes[outcome] += 1
        self._progress.update(self._task, advance=1, outcomes=self._text())

    def step_ended(self, outcome: str) -> None:
        """Leave a line behind for steps that made attempts, or that did not end well."""
        if self._outcomes or outcome not in ("finished", "refused"):
            counted = f" – {self._text()}" if self._outcomes else f" – {outcome}"
            self._console.print(f"  {self._label}{counted}", highlight=False)

    def _text(self) -> str:
        return ", ".join(f"{count} {outcome}" for outcome, count in self._outcomes.items())
