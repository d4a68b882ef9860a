"""The shape of a policy file: strict models, nothing unknown, nothing converted.

Only the shape is judged here. What names refer to (groups, variables, globs) is judged when the
policy is compiled; where each fault stands is found by :mod:`gateway.decide.parse`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from gateway.model.names import COMMAND_OPERATIONS, FS_OPERATIONS, Effect, Operation
from gateway.model.session import MAX_RATE


def _some(value: Sized) -> Sized:
    if not value:
        raise ValueError("empty: write at least one entry")
    return value


SOME: Final = AfterValidator(_some)

Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=4096)]
Texts: TypeAlias = Annotated[tuple[Text, ...], SOME]
Name: TypeAlias = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
Scalar: TypeAlias = str | int | float | bool
Scalars: TypeAlias = Annotated[tuple[Scalar, ...], SOME]
Count: TypeAlias = Annotated[int, Field(ge=0, le=2**53 - 1)]
Free: TypeAlias = Mapping[str, Any]


def _version(value: object) -> object:
    if type(value) is not int or value != 1:
        raise ValueError("this version reads `version: 1`")
    return value


def _default(value: object) -> object:
    if value == Effect.ALLOW.word:
        raise ValueError("a policy never allows by default: write `deny` or `ask`")
    return value


ABSTAIN: Final = "abstain"


def _operation(value: object) -> object:
    try:
        return Operation(value) if isinstance(value, str) else value
    except ValueError:
        known = ", ".join(Operation)
        raise ValueError(f"no such operation (known: {known})") from None


OperationName: TypeAlias = Annotated[Operation, BeforeValidator(_operation)]


class Strict(BaseModel):
    """Nothing extra, nothing converted, nothing changed later."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, hide_input_in_errors=True, allow_inf_nan=False
    )


class Api(Strict):
    """Which API calls. `scope`, when given, must be the scope the operation needs."""

    audience: Text
    operations: Texts
    scope: Text | None = None


class Constraint(Strict):
    """What one argument must be; it must be there unless `optional`."""

    type: Literal["string", "integer", "number", "boolean", "array", "object"] | None = None
    under: Texts | None = None
    in_: Scalars | None = Field(default=None, alias="in")
    not_in: Scalars | None = None
    equals: Scalar | None = None
    contains_none: Texts | None = None
    min_length: Count | None = None
    max_length: Count | None = None
    min: int | float | None = None
    max: int | float | None = None
    optional: bool = False

    @model_validator(mode="after")
    def _says_something(self) -> Constraint:
        if self.model_fields_set <= {"optional"}:
            raise ValueError("a constraint that says nothing: write at least `type`")
        return self


class Sandbox(Strict):
    """What a command's sandbox must give (`A` is the strongest tier) and may reach."""

    min_tier: Literal["A", "B"] | None = None
    network: Literal["none", "proxy"] = "none"


class Memory(Strict):
    """Lasting memory: an allow holds up to these, a deny from these on."""

    scope: Literal["session", "project", "global"] | None = None
    sensitivity: Literal["low", "medium", "high"] | None = None
    max_bytes: Count | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Memory:
        if not self.model_fields_set:
            raise ValueError("it says nothing: write `scope`, `sensitivity` or `max_bytes`")
        return self


class Rate(Strict):
    """At most `count` acts in any `seconds`."""

    count: Annotated[int, Field(ge=1, le=MAX_RATE)]
    seconds: Annotated[int, Field(ge=1, le=7 * 24 * 3600)]


class RuleLimits(Strict):
    """How much a rule lets through for one user and workspace, until a person clears it."""

    count: Count | None = None
    bytes: Count | None = None
    rate: Rate | None = None

    @model_validator(mode="after")
    def _says_something(self) -> RuleLimits:
        if not self.model_fields_set:
            raise ValueError("it says nothing: write `count`, `bytes` or `rate`")
        return self


class Example(Strict):
    """A request, as an agent would make it."""

    tool: Text
    params: Free


class Examples(Strict):
    """Requests this rule must decide, and requests it must not decide."""

    match: tuple[Example, ...] = ()
    not_match: tuple[Example, ...] = ()


class Rule(Strict):
    """One rule: every condition must hold; within a condition any of its values may."""

    id: Annotated[str, Field(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$")]
    effect: Literal["allow", "ask", "deny"]
    operations: Annotated[tuple[OperationName, ...], SOME]
    resources: Texts | None = None
    hardlinks: Literal["allow"] | None = None
    programs: Texts | None = None
    commands: Annotated[tuple[Texts, ...], SOME] | None = None
    cwd: Texts | None = None
    sandbox: Sandbox | None = None
    schemes: Annotated[tuple[Literal["http", "https"], ...], SOME] | None = None
    hosts: Texts | None = None
    methods: Annotated[tuple[Annotated[str, Field(pattern="^[A-Z]{1,20}$")], ...], SOME] | None = (
        None
    )
    ports: Annotated[tuple[Annotated[int, Field(ge=1, le=65535)], ...], SOME] | None = None
    paths: Annotated[tuple[Annotated[str, Field(pattern="^/")], ...], SOME] | None = None
    api: Api | None = None
    servers: Texts | None = None
    tools: Texts | None = None
    uris: Texts | None = None
    arguments: Annotated[Mapping[Text, Constraint], SOME] | None = None
    memory: Memory | None = None
    identities: Texts | None = None
    taint: Literal["none"] | None = None
    taint_any: Annotated[tuple[Literal["attempted", "exposed"], ...], SOME] | None = None
    limits: RuleLimits | None = None
    when: Annotated[str, Field(min_length=1, max_length=1024)] | None = None
    approval: Literal["low", "medium", "high"] | None = None
    audit: Literal["digest", "metadata"] | None = None
    redact: Annotated[tuple[Literal["secrets"], ...], SOME] | None = None
    examples: Examples | None = None
    justification: Text | None = None


class Limits(Strict):
    """Bounds of every allowed act."""

    approval_timeout_s: Annotated[int, Field(ge=1, le=3600)] = 60
    read_bytes: Annotated[int, Field(ge=1, le=64 * 1024 * 1024)] = 1_048_576
    call_timeout_s: Annotated[int, Field(ge=1, le=600)] = 30


class Authority(Strict):
    """Which arguments of an operation carry authority; parsed and validated only, for now."""

    class_: Literal["egress", "write", "read", "execute"] = Field(alias="class")
    who: tuple[Text, ...] = ()
    content: tuple[Text, ...] = ()


class Shared(Strict):
    """What a policy file and an included file may both say."""

    version: Annotated[Literal[1], BeforeValidator(_version)]
    include: tuple[Text, ...] = ()
    protected: tuple[Text, ...] = ()
    groups: Mapping[Name, Texts] = Field(default_factory=dict)
    labels: Mapping[Text, Mapping[Text, Text]] = Field(default_factory=dict)
    authority: Mapping[Text, Authority] = Field(default_factory=dict)


class Included(Shared):
    """An included file adds; `default`, `roots` and `limits` belong to the main file alone."""

    rules: tuple[Rule, ...] = ()


class Main(Shared):
    """The policy file itself.

    `default: abstain` leaves what no rule matches to the other layers; `roots` may be left out
    where those of another policy count. Both are for policies that only narrow another.
    """

    default: Annotated[Literal["deny", "ask", "abstain"], BeforeValidator(_default)] = "deny"
    roots: Mapping[Name, Text] = Field(default_factory=dict)
    rules: Annotated[tuple[Rule, ...], SOME]
    limits: Limits = Field(default_factory=Limits)


_MCP: Final = frozenset({Operation.MCP_CALL, Operation.MCP_RESOURCE, Operation.MCP_PROMPT})
_NET: Final = frozenset({Operation.NET_REQUEST})

# Which operations a condition can judge; one that is not here can judge all of them.
APPLIES: Final[Mapping[str, frozenset[Operation]]] = {
    "resources": FS_OPERATIONS,
    "hardlinks": FS_OPERATIONS,
    "programs": COMMAND_OPERATIONS,
    "commands": COMMAND_OPERATIONS,
    "cwd": COMMAND_OPERATIONS,
    "sandbox": COMMAND_OPERATIONS,
    "schemes": _NET,
    "hosts": _NET,
    "methods": _NET,
    "ports": _NET,
    "paths": _NET,
    "api": frozenset({Operation.API_CALL}),
    "servers": _MCP,
    "tools": frozenset({Operation.MCP_CALL}),
    "uris": frozenset({Operation.MCP_RESOURCE}),
    "arguments": frozenset({Operation.API_CALL, Operation.MCP_CALL, Operation.MCP_PROMPT}),
    "memory": frozenset({Operation.MEMORY_WRITE}),
}
