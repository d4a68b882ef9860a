"""What a grammar made of one argv: the parts from which an action is put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.model.action import Refusal
from gateway.model.names import Json, Operation
from gateway.model.plan import Operand
from gateway.model.resource import PathResource, Resource
from gateway.normalize.build import identity_json
from gateway.normalize.path import Located
from gateway.normalize.roots import Root


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A working directory: its root and its real path from there."""

    root: Root
    relative: str

    @property
    def path(self) -> str:
        """The absolute path."""
        return self.root.join(self.relative)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A file operand that was opened and judged."""

    operand: Operand
    is_directory: bool

    @classmethod
    def of(cls, located: Located) -> Opened:
        """Keep what must still be the same when the program starts."""
        return cls(
            operand=Operand(
                root_fd=located.root_fd,
                relative=located.relative,
                path=located.resource.path,
                identity=located.identity,
            ),
            is_directory=located.is_directory,
        )

    def to_json(self) -> dict[str, Json]:
        """Show which object it is; a directory is the same one when its entries change."""
        shown = identity_json(self.operand.identity)
        kept = ("device", "inode") if self.is_directory else tuple(shown)
        return {"path": self.operand.path, **{name: shown[name] for name in kept}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """`argv`: rebuilt, argv[0] included. `environment`: what is added to the fixed one.

    `stdin`: it reads standard input, since it names no file.
    """

    operation: Operation
    program: str
    argv: tuple[str, ...]
    resources: tuple[PathResource, ...] = ()
    opened: tuple[Opened, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    grammar: bool = True
    stdin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NotUnderstood:
    """Why not, which operation it would be, and what it named."""

    refusal: Refusal
    operation: Operation = Operation.SHELL_RUN
    resources: tuple[Resource, ...] = ()
