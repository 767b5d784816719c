"""The scenario language: what may be asked of any target.

A scenario is a few orthogonal parts: groups of sandboxes, and steps that lead them through
operations at some pacing, until something stops them, so many times. How a file becomes these
models, with a place for every error, is in `specs.loading`; how they become trials, in `specs.plan`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from specs.figures import FIGURES
from specs.quantities import Bytes, Millicores, PositiveSeconds, Seconds
from specs.workloads import MEMORY, WORKLOADS

Operation = Literal["create", "resume", "suspend", "wake", "exec", "delete"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)
Need = Literal["router", "store"]
"""What steps need beside sandboxes: `wake` a router, `durability` a store."""
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,39}$")]
Parameter = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]


def _plain(value: Any) -> Any:
    # One message in place of one for each member of the union.
    if isinstance(value, str | int | float | bool):
        return value
    raise ValueError("expected text, a number, true or false")


def _plain_or_list(value: Any) -> Any:
    if isinstance(value, list | str | int | float | bool):
        return value
    raise ValueError("expected text, a number, true, false, or a list of these")


def _argument(value: Any) -> Any:
    # A whole number has one text only, so that "{{ n }}" can be an argument without further ado.
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Argument = Annotated[str, BeforeValidator(_argument, json_schema_input_type=str | int)]
Scalar = Annotated[str | int | float | bool, BeforeValidator(_plain)]
Value = Annotated[
    Annotated[Scalar, Tag("(one)")] | Annotated[list[Scalar], Tag("(list)")],
    Discriminator(lambda value: "(list)" if isinstance(value, list) else "(one)"),
    BeforeValidator(_plain_or_list),
]
"""What a placeholder can stand for."""
Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]


class Model(BaseModel):
    """The base of everything read from YAML: unknown keys are errors, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _workload_of(runs_on: str) -> Callable[[str | None], str | None]:
    def check(name: str | None) -> str | None:
        known = [workload.name for workload in WORKLOADS.values() if workload.runs_on == runs_on]
        if name is not None and name not in known:
            raise ValueError(f"no program for this place is called {name!r:.60}; known are {', '.join(known)}")
        return name

    return check


When = Annotated[
    dict[str, Value], Field(description="matrix values with which the step is done; with others it is left out")
]


class Group(Model):
    """Sandboxes that share a spec."""

    count: Count = Field(description="how many sandboxes the group has at most")
    cpu: Millicores = Field(description="CPU limit of each sandbox")
    memory: Bytes = Field(description="memory limit of each sandbox")
    command: list[Argument] = Field(
        default=["/usr/bin/sleep", "infinity"], min_length=1, description="the program that each sandbox runs"
    )
    workload: Annotated[str | None, AfterValidator(_workload_of("group"))] = Field(
        default=None, description="a built-in program that each sandbox runs, in place of `command`"
    )
    env: dict[str, Argument] = Field(default={}, description="environment variables of that program")
    background: bool = Field(
        default=False, description="the group loads the node while others are measured; the verdict says when it stops"
    )

    @model_validator(mode="after")
    def _runs_one_thing(self) -> Group:
        if self.workload is not None and "command" in self.model_fields_set:
            raise ValueError("give one of command and workload")
        return self

    @property
    def argv(self) -> list[str]:
        """The command line of the program that each sandbox runs."""
        if self.workload is None:
            return self.command
        return [str(self.memory) if part == MEMORY else part for part in WORKLOADS[self.workload].argv()]


class InFlight(Model):
    """Closed loop: a new attempt starts when one of at most `in_flight` ends."""

    in_flight: Count = Field(description="attempts in flight at most")


class Rate(Model):
    """Open loop: attempts are due at times drawn before the load, whatever the system does."""

    rate: Annotated[float, Field(gt=0, le=1_000_000, strict=True)] = Field(description="attempts per second")
    arrivals: Literal["constant", "poisson"] = Field(
        default="constant", description="constant: evenly spaced; poisson: at random, seeded"
    )


# Tags stand in brackets, so that in the place of an error no tag can be taken for a key.
def _pacing_tag(value: Any) -> str | None:
    if value == "burst":
        return "(burst)"
    if isinstance(value, dict):
        kinds = [kind for kind in ("in_flight", "rate") if kind in value]
        return f"({kinds[0]})" if len(kinds) == 1 else None
    if isinstance(value, InFlight):
        return "(in_flight)"
    return "(rate)" if isinstance(value, Rate) else None


Pacing = Annotated[
    Annotated[Literal["burst"], Tag("(burst)")]
    | Annotated[InFlight, Tag("(in_flight)")]
    | Annotated[Rate, Tag("(rate)")],
    Discriminator(
        _pacing_tag,
        custom_error_type="expected",
        custom_error_message="expected burst, {in_flight: N} or {rate: N}",
    ),
]


Command = Annotated[list[Argument], Field(min_length=1)]
BuiltIn = Annotated[str, AfterValidator(_workload_of("exec"))]


class Exec(Model):
    """Run a program inside each sandbox and wait for its end; any exit code but 0 is a failure."""

    exec: Annotated[
        Annotated[Command, Tag("(list)")] | Annotated[BuiltIn, Tag("(one)")],
        Discriminator(
            lambda value: "(list)" if isinstance(value, list) else "(one)" if isinstance(value, str) else None,
            custom_error_type="expected",
            custom_error_message="expected [program, argument, ...] or the name of a built-in program",
        ),
    ] = Field(description="the program and its arguments, or the name of a built-in program")
    args: list[Argument] = Field(default=[], description="arguments of a built-in program, in place of its usual ones")

    @model_validator(mode="after")
    def _has_one_list(self) -> Exec:
        if self.args and isinstance(self.exec, list):
            raise ValueError("args are for a built-in program; write the arguments behind the program")
        return self

    @property
    def argv(self) -> list[str]:
        """The whole command line."""
        return self.exec if isinstance(self.exec, list) else WORKLOADS[self.exec].argv(self.args)

    @property
    def program(self) -> str:
        """What the program is called in rows."""
        return PurePosixPath(self.exec[0]).name if isinstance(self.exec, list) else self.exec


def _action_tag(value: Any) -> str | None:
    if isinstance(value, str):
        return "(name)"
    return "(exec)" if isinstance(value, dict | Exec) else None


Action = Annotated[
    Annotated[Literal["create", "resume", "suspend", "wake", "delete"], Tag("(name)")] | Annotated[Exec, Tag("(exec)")],
    Discriminator(
        _action_tag,
        custom_error_type="expected",
        custom_error_message="expected create, resume, suspend, wake, delete or {exec: [program, ...]}",
    ),
]


def operation_of(action: str | Exec) -> Operation:
    """The operation that an entry of `do` performs."""
    return "exec" if isinstance(action, Exec) else action  # type: ignore[return-value]


class Load(Model):
    """Lead a group's sandboxes through operations.

    The group passes in batches of `batch` (all at once by default): each operation of `do` is
    performed on every sandbox of the batch before the next operation begins.
    """

    group: Name = Field(description="the group whose sandboxes are led")
    do: list[Action] = Field(min_length=1, description="the operations, in order")
    pacing: Pacing = Field(
        default="burst", description="when attempts start: burst (all at once), {in_flight: N} or {rate: N per second}"
    )
    batch: Count | None = Field(default=None, description="sandboxes that pass through `do` together")
    repeat: Count = Field(default=1, description="rounds over the whole group")
    until: Literal["refused"] | None = Field(
        default=None, description="end the step after the batch in which an attempt is refused"
    )
    hold: Seconds = Field(default=0.0, description="time after each batch in which only the samplers work")
    timeout: PositiveSeconds = Field(default=60.0, description="bound on each attempt")
    when: When = {}


class LoadStep(Model):
    """The step that puts load on the target."""

    load: Load


class Provision(Model):
    """What the load finds ready: what the steps of the trial need is started here."""

    upload_delay: Seconds | None = Field(
        default=None,
        description="time from a suspend until its snapshot is uploaded, where the platform lets it be chosen",
    )


class ProvisionStep(Model):
    """The step `provision`, with wishes."""

    provision: Provision


class Durability(Model):
    """Watch a group's snapshots until each is durable or lost, then restore some from the store alone.

    Durable means that the snapshot's manifest and every object that it lists are in the store, with
    the right size and checksum. Of those, `restore` are drawn by the trial's seed; the local copy of
    each is removed, it is resumed, and the built-in program `verify` looks for the nonces that
    `mark` left before the suspend.
    """

    group: Name = Field(description="the group whose snapshots are watched")
    timeout: PositiveSeconds = Field(default=900.0, description="time until snapshots that are not durable are stuck")
    restore: Annotated[int, Field(strict=True, ge=0, le=1_000_000)] = Field(
        default=0, description="snapshots to restore from the store alone and to verify"
    )
    when: When = {}


class DurabilityStep(Model):
    """The step that proves snapshots durable."""

    durability: Durability


_STEPS: dict[str, type[Model]] = {"load": LoadStep, "provision": ProvisionStep, "durability": DurabilityStep}


def _step_tag(value: Any) -> str | None:
    if isinstance(value, str):
        return "(name)"
    for name, model in _STEPS.items():
        if isinstance(value, model) or (isinstance(value, dict) and name in value):
            return f"({name})"
    return None


Step = Annotated[
    Annotated[Literal["cleanup", "provision"], Tag("(name)")]
    | Annotated[LoadStep, Tag("(load)")]
    | Annotated[ProvisionStep, Tag("(provision)")]
    | Annotated[DurabilityStep, Tag("(durability)")],
    Discriminator(
        _step_tag,
        custom_error_type="expected",
        custom_error_message="expected cleanup, provision, load: {group: ..., do: [...]} or durability: {group: ...}",
    ),
]


def kind_of(step: str | Model) -> str:
    """What kind of step it is: cleanup, provision, load or durability."""
    return step if isinstance(step, str) else next(name for name, model in _STEPS.items() if isinstance(step, model))


def is_done(when: dict[str, Any], matrix: Mapping[str, Any]) -> bool:
    """Whether a step with such a `when` is done with these matrix values."""
    return all(
        any(_same(matrix.get(key), one) for one in (wanted if isinstance(wanted, list) else [wanted]))
        for key, wanted in when.items()
    )


def _same(value: Any, other: Any) -> bool:
    # True is 1 to Python, and is not to anybody else.
    return type(value) is type(other) and value == other


class Check(Model):
    """A bound on one figure; its answer is pass, fail or insufficient.

    `of` names the figure: OPERATION.FIGURE, such as `resume.p50` or `create.failed`, or one of the
    whole run, such as `density.running`; `specs/figures.py` lists them all. `where` narrows it to
    trials by their matrix values, and to attempts by `group`, by `how` (booted or restored) and by
    `program` (of an exec), or to a `component` during an `operation`.
    """

    of: str = Field(pattern=rf"^({'|'.join(figure.replace('.', '[.]') for figure in FIGURES)})$")
    where: dict[str, Scalar] = Field(
        default={}, description="matrix values, group, how, program, component or operation"
    )
    at_most: Scalar | None = Field(default=None, description="a duration such as 4s, a size such as 20Mi, or a number")
    at_least: Scalar | None = Field(default=None, description="a duration such as 4s, a size such as 20Mi, or a number")

    @model_validator(mode="after")
    def _has_one_bound(self) -> Check:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError("give exactly one of at_most and at_least")
        return self


class Scenario(Model):
    """One trial's scenario: every placeholder filled in, nothing left to choose."""

    name: Name = Field(description="what the scenario is called in commands and rows")
    title: str = Field(min_length=1, description="the question that it answers, in one line")
    description: str = Field(default="", description="how it asks, and where the method is from")
    groups: dict[Name, Group] = Field(min_length=1, description="sandboxes that share a spec, by the group's name")
    steps: list[Step] = Field(min_length=1, description="what each trial does, in order; cleanup comes first")
    checks: list[Check] = Field(default=[], description="bounds on the figures of the run")


class Head(Model):
    """What makes many trials of one document.

    `parameters` are values for placeholders (`{{ name }}`); `sizes` are named sets of other
    values for them, of which `size` picks one (the default, `published`, takes the parameters as
    they stand unless it is listed). `matrix` gives each key several values, and every combination
    is a trial, `repetitions` times.
    """

    version: Literal[1] = Field(default=1, description="of the scenario language")
    size: Name = Field(default="published", description="the size that is used when a run asks for none")
    parameters: dict[Parameter, Value] = Field(default={}, description="values for placeholders, by name")
    sizes: dict[Name, dict[Parameter, Value]] = Field(default={}, description="other values for parameters, by size")
    matrix: dict[Parameter, list[Scalar]] = Field(
        default={}, description="values to combine; each combination is a trial"
    )
    repetitions: int = Field(default=1, strict=True, ge=1, le=1000, description="how often each combination is tried")
    seed: int = Field(default=1, strict=True, ge=0, le=2**31 - 1, description="of everything that is drawn")


class ScenarioFile(Head, Scenario):
    """The whole document: what a `Scenario` has, and what makes many trials of it."""
