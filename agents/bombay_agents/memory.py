"""Agents with memory: what an agent has allocated for a game stays with it, and one thread at a time uses it."""

import threading
from typing import Any, ClassVar


class WithMemory:
    """A base class of agents with memory for a game.

    Threads may share such an agent: they hold `lock` while they use its memory, so they take turns. A copy has no memory, also in
    another process, and allocates its own when it acts. Some arrays in such memory are views of others. In a copy they would be
    arrays of their own, and kernels that write to one would no longer change the other.
    """

    memory: ClassVar[tuple[str, ...]]
    """Attributes that a copy has as None; without them the agent allocates its memory again."""

    lock: Any
    """A `threading.RLock` of this agent."""

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        """The attributes of a copy."""
        return {name: value for name, value in vars(self).items() if name != "lock"} | dict.fromkeys(self.memory)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make a copy with these attributes, and a lock of its own."""
        vars(self).update(state, lock=threading.RLock())
