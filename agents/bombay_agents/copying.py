"""Copies of agents: what an agent has allocated for a game stays with it."""

from typing import Any, ClassVar


class WithoutMemory:
    """A base class of agents with memory for a game. A copy has none, also in another process, and makes its own when it acts.

    Some arrays in such memory are views of others. In a copy they would be arrays of their own, and kernels that write to one
    would no longer change the other.
    """

    memory: ClassVar[tuple[str, ...]]
    """Attributes that a copy has as None; without them the agent allocates its memory again."""

    def __getstate__(self) -> dict[str, Any]:
        """The attributes of a copy."""
        return vars(self) | dict.fromkeys(self.memory)
