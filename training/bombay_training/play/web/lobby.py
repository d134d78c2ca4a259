"""The settings of a new game that a page may choose. No file and no program is among them."""

import secrets
from collections.abc import Callable
from typing import Any, Final, Literal

import bombay_agents
from bombay_env import Board, Game, Rules, checks
from bombay_env.agent import Agent
from bombay_env.files import forms
from bombay_env.random_board import random_board
from bombay_env.rules import MAX_PLAYERS, MIN_PLAYERS
from bombay_training.play.seats import LEVELS
from bombay_training.play.session import HUMAN, Session

DRAWN_BOARDS: Final = 10_000  # seeds of boards that are drawn; short, so that they can be told to somebody


class Settings(forms.Form):
    """What a new game is begun with. Seeds are texts, since JavaScript rounds large numbers; an empty one is drawn."""

    seats: list[str]  # a name of `Lobby.choices` for each
    screened: bool
    board: Literal["own", "packaged", "random"]  # own: the board of the first game
    board_seed: str  # of the random board
    seed: str


class Lobby:
    """Begins games, and keeps the settings of the newest one.

    Args:
        first: the first game, whose agents and board can be chosen again.
        game_of: a variant of the same rules and board for a number of players; may raise ValueError.
    """

    def __init__(self, first: Session, game_of: Callable[[int], Game] | None = None) -> None:
        self._first, self._game_of = first.game, game_of or self._official
        # Agents of the first game that are no level, such as a program that the command line names.
        self._agents = {
            name: agent for name, agent in zip(first.names, first.agents, strict=True) if agent and name not in LEVELS
        }
        self._has_own = first.game.board != Board.load()
        seats = [HUMAN if agent is None else name for name, agent in zip(first.names, first.agents, strict=True)]
        board: Literal["own", "packaged"] = "own" if self._has_own else "packaged"
        self.settings = Settings(seats=seats, screened=first.screened, board=board, board_seed="", seed="")

    @property
    def choices(self) -> dict[str, str]:
        """Who may sit in a seat, in words."""
        levels = {name: f"{name} ({words})" for name, words in LEVELS.items()}
        return {HUMAN: HUMAN, **levels, **{name: name for name in self._agents}}

    def message(self) -> dict[str, Any]:
        """What the page offers."""
        own = {"own": self._first.board.name} if self._has_own else {}
        return {
            "settings": self.settings.model_dump(),
            "players": list(range(MIN_PLAYERS, MAX_PLAYERS + 1)),
            "choices": self.choices,
            "boards": {**own, "packaged": "packaged", "random": "random"},
            "words": self._words(),
        }

    def begin(self, settings: Settings, version: int) -> Session:
        """A game with these settings, which become those of the next one.

        Args:
            settings: as the page sends them.
            version: of the game's first position.

        Raises:
            ValueError: there is no such game, or an agent cannot play it. The settings stay as they were.
        """
        if not MIN_PLAYERS <= len(settings.seats) <= MAX_PLAYERS:
            raise ValueError(f"a game has {MIN_PLAYERS} to {MAX_PLAYERS} seats")
        board_seed = settings.board_seed.strip()
        if settings.board == "random":
            board_seed = board_seed or str(secrets.randbelow(DRAWN_BOARDS))
        game = self._game(len(settings.seats), settings.board, board_seed)
        seed = _seed(settings.seed) if settings.seed.strip() else secrets.randbelow(checks.MAX_SEED)
        session = Session(game, [self._agent(name) for name in settings.seats], seed, settings.screened, version)
        self.settings = settings.model_copy(update={"board_seed": board_seed, "seed": ""})
        return session

    def replace(self, seat: int, name: str) -> None:
        """Keep that a seat was given to somebody else."""
        seats = [name if place == seat else old for place, old in enumerate(self.settings.seats)]
        self.settings = self.settings.model_copy(update={"seats": seats})

    def _words(self) -> str:
        settings = self.settings
        words = [f"{len(settings.seats)} players: {', '.join(settings.seats)}"]
        if settings.board != "packaged":
            words.append(
                f"board {self._first.board.name if settings.board == 'own' else f'random-{settings.board_seed}'}"
            )
        return "; ".join(words + ["screened"] * settings.screened)

    def _agent(self, name: str) -> Agent | None:
        if name not in self.choices:
            raise ValueError(f"{checks.shown(name)} cannot take a seat; allowed are {', '.join(self.choices)}")
        return None if name == HUMAN else self._agents.get(name) or bombay_agents.make(name)

    def _game(self, players: int, board: str, board_seed: str) -> Game:
        game = self._game_of(players)
        if board == "own":
            return game
        return Game(
            game.rules, Board.load() if board == "packaged" else Board.from_dict(random_board(_seed(board_seed)))
        )

    def _official(self, players: int) -> Game:
        """The first game, or with another number of players one by the official rules."""
        first = self._first
        return first if players == first.num_players else Game(Rules.official(players), first.board)


def _seed(text: str) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) <= len(str(checks.MAX_SEED))):
        raise ValueError(f"a seed is a whole number from 0 to {checks.MAX_SEED}, not {checks.shown(text)}")
    return checks.seed(int(digits))
