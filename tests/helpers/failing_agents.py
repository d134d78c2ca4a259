"""Small agents for tests of matches: one that plays, and some that fail in every way they can."""

import os
import time
from pathlib import Path


class First:
    """Chooses the lowest legal action."""

    def __init__(self, name="first"):
        self.name = name

    def act(self, game, states, rng):
        return game.legal_actions(states).argmax(axis=1)


class Wrong(First):
    """Answers `answer(count)` from its third call on."""

    def __init__(self, answer):
        super().__init__("wrong")
        self.answer, self.calls = answer, 0

    def act(self, game, states, rng):
        self.calls += 1
        return super().act(game, states, rng) if self.calls < 3 else self.answer(len(states))


def raising(count):
    raise KeyError("no idea")


def leaving(count):
    raise SystemExit(3)


class Hangs(First):
    """Never answers in the second turn of games in which city 0 wants a certain colour first."""

    def __init__(self):
        super().__init__("hangs")

    def act(self, game, states, rng):
        while ((states["turn"] > 0) & (states["demand"][:, 0, 0] == 1)).any():
            pass
        return super().act(game, states, rng)


class Dies(First):
    def act(self, game, states, rng):
        os._exit(7)


class Raises(First):
    def act(self, game, states, rng):
        raise ValueError("never")


class Leaves(First):
    def act(self, game, states, rng):
        leaving(len(states))


class Interrupts(First):
    def act(self, game, states, rng):
        raise KeyboardInterrupt


class Forks(First):
    """At its first call leaves a copy of its process behind, which has all its pipes; a file in `$FORKED` says that it lives."""

    def __init__(self):
        super().__init__("forks")
        self.copy = 0

    def act(self, game, states, rng):
        if not self.copy:
            self.copy = os.fork()
            if self.copy == 0:
                mine = Path(os.environ["FORKED"], str(os.getpid()))
                mine.touch()
                time.sleep(60)
                mine.unlink()
                os._exit(0)
        return super().act(game, states, rng)
