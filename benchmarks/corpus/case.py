"""A case as it stands in `cases/*.yaml`, strict: what there is, what is asked, what comes of it.

`is: "deny fs_protected"` gives effect and reason of a step; `by` also the rule. In texts `{ws}`,
`{outside}`, `{config}`, `{policy}` and `{state}` stand for places of the case's own world. A case
with `known` is a shortfall of the gate, in the words of `docs/limitations.md`: the steps it is
about say in `now` what comes of them today, which is accepted and counted apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from gateway.decide.yaml_strict import read
from gateway.model.reasons import REASONS

CASES: Final = Path(__file__).with_name("cases")
POLICIES: Final = Path(__file__).with_name("policies")

Text: TypeAlias = Annotated[str, Field(min_length=1)]
Is: TypeAlias = Annotated[str, Field(pattern=r"^(allow|ask|deny) [a-z_]+$")]


class _Strict(BaseModel):
    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, validate_by_name=False, validate_by_alias=True
    )


class World(_Strict):
    """What lies in the workspace beside what every case finds there (:mod:`.world`).

    Names are relative to the workspace; `../outside/x` is outside every root. `hardlinks` and
    `symlinks` map a new name to an existing one, or to any text. `sparse` maps a name to a size.
    """

    files: Mapping[Text, str] = Field(default_factory=dict)
    directories: tuple[Text, ...] = ()
    symlinks: Mapping[Text, Text] = Field(default_factory=dict)
    hardlinks: Mapping[Text, Text] = Field(default_factory=dict)
    fifos: tuple[Text, ...] = ()
    sparse: Mapping[Text, int] = Field(default_factory=dict)
    git: bool = False
    git_config: Mapping[Text, Text] = Field(default_factory=dict)


class Step(_Strict):
    """One act. `check` is decided only; `run` goes the whole road (nobody is there to approve)."""

    check: Text | None = None
    run: Text | None = None
    params: Mapping[str, Any] = Field(default_factory=dict)
    wanted: Is = Field(alias="is")
    now: Is | None = None
    by: Text | None = None
    gives: str | None = None

    @property
    def verb(self) -> Literal["check", "run"]:
        """Which of the two."""
        return "run" if self.check is None else "check"

    @property
    def tool(self) -> str:
        """The tool that is asked for."""
        return self.check or self.run or ""

    @property
    def effect(self) -> str:
        """The effect it must have."""
        return self.wanted.partition(" ")[0]

    @property
    def reason(self) -> str:
        """The reason it must have."""
        return self.wanted.partition(" ")[2]


class Case(_Strict):
    """One scenario: a fresh workspace, a fresh session, some acts one after the other."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    kind: Literal["attack", "benign"]
    title: Text
    area: str = ""
    source: Text | None = None
    policy: Literal["work", "open", "strict"] = "work"
    world: World = Field(default_factory=World)
    steps: tuple[Step, ...]
    known: Text | None = None


class _File(_Strict):
    cases: tuple[Case, ...]


def load(folder: Path = CASES) -> tuple[Case, ...]:
    """Read every case; the area is the file's name.

    Raises:
        ValueError: a file that is none, a step without one of `check` and `run`, an unknown
            reason, `known` without `now`, an id that is there twice.
    """
    found: dict[str, Case] = {}
    for path in sorted(folder.glob("*.yaml")):
        parsed = read(path.name, path.read_bytes())
        for case in _File.model_validate(parsed.value).cases:
            if case.id in found:
                raise ValueError(f"{path.name}: {case.id} is there twice")
            for step in case.steps:
                if (step.check is None) is (step.run is None):
                    raise ValueError(f"{case.id}: a step is either `check` or `run`")
                for said in filter(None, (step.wanted, step.now)):
                    if said.partition(" ")[2] not in REASONS:
                        raise ValueError(f"{case.id}: unknown reason in {said!r}")
            if (case.known is None) is any(step.now for step in case.steps):
                raise ValueError(f"{case.id}: `known` and `now` go together")
            if not case.steps:
                raise ValueError(f"{case.id}: no steps")
            found[case.id] = case.model_copy(update={"area": path.stem})
    return tuple(found.values())
