"""The scenario language: what may be asked of any target.

A scenario is a few orthogonal parts: groups of sandboxes, and steps that lead them through
operations at some pacing, until something stops them, so many times. How a file becomes these
models, with a place for every error, is in `specs.loading`; how they become trials, in `specs.plan`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from specs.quantities import Bytes, Millicores, PositiveSeconds, Seconds

Operation = Literal["create", "resume", "suspend", "wake", "exec", "delete"]
OPERATIONS: tuple[str, ...] = get_args(Operation)
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


class Group(Model):
    """Sandboxes that share a spec."""

    count: Count = Field(description="how many sandboxes the group has at most")
    cpu: Millicores = Field(description="CPU limit of each sandbox")
    memory: Bytes = Field(description="memory limit of each sandbox")
    command: list[Argument] = Field(
        default=["/usr/bin/sleep", "infinity"], min_length=1, description="the program that each sandbox runs"
    )
    env: dict[str, Argument] = Field(default={}, description="environment variables of that program")


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


class Exec(Model):
    """Run a program inside each sandbox and wait for its end; any exit code but 0 is a failure."""

    exec: list[Argument] = Field(min_length=1, description="the program and its arguments")


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


class LoadStep(Model):
    """The step that puts load on the target."""

    load: Load


def _step_tag(value: Any) -> str | None:
    if isinstance(value, str):
        return "(name)"
    return "(load)" if isinstance(value, LoadStep) or (isinstance(value, dict) and "load" in value) else None


Step = Annotated[
    Annotated[Literal["cleanup", "provision"], Tag("(name)")] | Annotated[LoadStep, Tag("(load)")],
    Discriminator(
        _step_tag,
        custom_error_type="expected",
        custom_error_message="expected cleanup, provision or load: {group: ..., do: [...]}",
    ),
]

Figure = Literal["p50", "p95", "p99", "max", "attempts", "ok", "refused", "failed", "timed_out"]
FIGURES_IN_SECONDS = frozenset({"p50", "p95", "p99", "max"})


class Check(Model):
    """A bound on one figure; its answer is pass, fail or insufficient.

    `of` is OPERATION.FIGURE, such as `resume.p50` or `create.failed`, or `density.running`, the
    largest number of sandboxes that ran at once. `where` narrows it to trials by their matrix
    values, and to attempts by `group`, and by `how` (booted or restored).
    """

    of: str = Field(pattern=rf"^(({'|'.join(OPERATIONS)})\.({'|'.join(get_args(Figure))})|density\.running)$")
    where: dict[str, Scalar] = Field(default={}, description="matrix values, group, or how (booted or restored)")
    at_most: Scalar | None = Field(default=None, description="a duration such as 4s, or a whole number for counts")
    at_least: Scalar | None = Field(default=None, description="a duration such as 4s, or a whole number for counts")

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
