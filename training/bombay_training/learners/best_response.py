"""Best response: TD learns to beat copies of one frozen agent, the victim. What it wins shows how exploitable the victim is.

The learner has one seat of each game, every seat equally often; copies of the victim have the others. Everything but the games is
as in `td/run.py`: samples are the ends of the learner's own turns, after looking ahead, and the positions after restocks that
follow them, with λ-returns along its turns, for every seat. Any agent can be the victim. It acts by `act` for a batch of games,
on copies with other seeds. If the victim is a value net, compiled code plays its turns, and the response starts from the victim's
weights and has its width (unless `from_scratch`), since a weak response would prove nothing.
"""

import dataclasses
import functools
import os
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from bombay_agents import make, turns
from bombay_agents.nets import value_net_turns
from bombay_agents.nets.value_net import ValueNet
from bombay_agents.nets.value_net_agent import ValueNetAgent
from bombay_env import Game, batch
from bombay_env.agent import Blame, ask
from bombay_env.chance import random_word
from bombay_env.jit.kernels import kernel, piece_kernel
from bombay_env.rules import MAX_PLAYERS, NUM_COLOURS
from bombay_env.state import NOBODY
from bombay_training.evaluation import ladder
from bombay_training.learners.runs import require
from bombay_training.learners.td.run import TDRun, TDSettings
from bombay_training.learners.td.self_play import CHUNKS, PlayOptions, SelfPlay, play_turn, set_final_targets

DEALS: Final = np.uint64(3003)  # stream of keyed chance: seeds of games


@dataclasses.dataclass(frozen=True)
class BestResponseSettings(TDSettings):
    """Everything that decides a run; see `settings_for`."""

    learner: ClassVar[str] = "best-response"

    batch_size: int = 128
    """Positions per gradient step. A game has fewer samples than in self-play, where all seats learn."""
    victim: str = ""
    """Spec of the agent to respond to."""
    from_scratch: bool = False
    """Start from random weights even if the victim is a value net."""

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, if a setting is out of range."""
        super().__post_init__()
        require(
            self,
            "victim",
            holds=lambda spec: isinstance(spec, str) and spec != "",
            allowed="the spec of an agent",
        )


def settings_for(victim: str, hidden: int | None = None, **options: Any) -> BestResponseSettings:
    """Settings for a victim. If the victim is a value net, it decides what is not given: the width and the number of games.

    The response then learns from at least as many games as the victim did, if the victim's file records that number.

    Args:
        victim: its spec.
        hidden: width of the net.
        options: other fields of `BestResponseSettings`; None means not given.
    Raises:
        ValueError: there is no such agent, or a setting is out of range.
    """
    given = {name: value for name, value in options.items() if value is not None}
    agent = make(victim)
    if isinstance(agent, ValueNetAgent):
        hidden = hidden or agent.net.hidden
    settings = BestResponseSettings(victim=victim, hidden=hidden or BestResponseSettings.hidden, **given)
    games = games_learned_from(victim)
    if games and not {"minutes", "updates"} & set(given):
        counts = len(settings.players)
        games_per_update = settings.games // counts * counts
        settings = dataclasses.replace(settings, updates=-(-games // games_per_update))
    return settings


def games_learned_from(agent: str) -> int | None:
    """The number of games in a value net's file; None if the agent is no value net or its file does not say."""
    made = make(agent)
    training = made.net.about.get("training") if isinstance(made, ValueNetAgent) else None
    games = training.get("games") if isinstance(training, dict) else None
    return games if isinstance(games, int) and games > 0 else None


# --- victims ---


class FrozenOpponent:
    """Any agent as the victim; it decides by `act`.

    Args:
        spec: of the agent.
    Raises:
        ValueError: there is no such agent, or it thinks for a given time, so that no run could be repeated.
    """

    def __init__(self, spec: str) -> None:
        self.spec, self.who = spec, f"victim {spec!r}"
        self.renew()
        if getattr(self.agent, "ms", None) is not None:
            raise ValueError(f"the victim {spec} thinks by the clock; give it a budget in rollouts or nodes")

    def renew(self) -> None:
        """Create the agent again, so that nothing it remembers influences later games."""
        self.agent = make(self.spec)

    def play(self, game: Game, states: np.ndarray, lanes: np.ndarray, rng: Any) -> None:
        """Decide once, or for a whole turn, in these lanes of `states`, which are changed in place.

        Raises:
            AgentFault: the victim raised or chose an illegal action.
        """
        some = states[lanes]
        game.step(some, ask(self.agent, game, some, rng, seeds=rng, who=self.who))
        states[lanes] = some


class FrozenNet(FrozenOpponent):
    """A value net as the victim; compiled code plays its turns in many games at once.

    Raises:
        ValueError: the net is for other games.
    """

    agent: ValueNetAgent

    def __init__(self, spec: str, games: list[Game]) -> None:
        super().__init__(spec)
        for game in games:
            self.agent.check_game(game)
        net = self.agent.net
        self.weights, self.blend = net.record(), np.float32(net.blend)
        self.workspaces = {
            game.num_players: value_net_turns.new_turn_workspaces(game, net.hidden, CHUNKS, self.agent.rounds)
            for game in games
        }

    def renew(self) -> None:
        """Load the net on the first call only: it remembers nothing."""
        if not hasattr(self, "agent"):
            super().renew()

    def play(self, game: Game, states: np.ndarray, lanes: np.ndarray, rng: Any) -> None:
        """Play whole turns in these lanes of `states`, which are changed in place.

        Raises:
            OverflowError: a turn has too many states; see `turns.distinct_turns`.
        """
        done = np.zeros(len(lanes), np.bool_)
        play_net_piece(
            CHUNKS,
            lanes,
            states,
            game.tables,
            game.lookups,
            self.weights,
            self.blend,
            self.workspaces[game.num_players],
            done,
        )
        turns.check_count(0 if done.all() else turns.TOO_MANY)


@piece_kernel
def play_net_piece(chunk, lanes, states, tables, lookups, net, blend, workspaces, done):
    """Play the net's turn in a chunk of some lanes of `states`. `done` becomes true where the turn fits in memory."""
    drawn = np.empty(NUM_COLOURS, np.int64)
    workspace = workspaces[chunk]
    memory = workspace.memory
    for number in batch.lanes_of(chunk, len(workspaces), len(lanes)):
        lane = lanes[number]
        memory.node[0].state = states[lane]
        num_nodes = value_net_turns.value_turn(tables[0], lookups[0], net[0], blend, workspace)
        if num_nodes != turns.TOO_MANY:
            best = turns.best_outcome(memory, workspace.values, num_nodes)
            states[lane] = memory.node[best].state
            if memory.node[best].due == turns.RESTOCK_DUE:
                batch.restock(states[lane], tables[0], drawn)
            done[number] = True


# --- games ---


class ResponseGames(NamedTuple):
    """Games that run side by side, one a lane."""

    states: np.ndarray  # (lanes,) records
    seeds: np.ndarray  # (lanes,) uint64
    moves: np.ndarray  # (lanes,) uint64, turns that the learner has played
    samples: np.ndarray  # (lanes, most) of `self_play.sample_dtype`
    counts: np.ndarray  # (lanes,) int64, samples so far; `turns.TOO_MANY` where a turn does not fit in memory


class ResponsePlay(SelfPlay):
    """Plays games of one learner against copies of a victim; see `SelfPlay`."""

    def __init__(self, games: list[Game], each: int, hidden: int, victim: FrozenOpponent) -> None:
        super().__init__(games, each, hidden)
        self.victim = victim

    def play(self, net: np.ndarray, key: int, first: int, blend: float, epsilon: float, td_lambda: float) -> np.ndarray:
        """Play the games numbered from `first` on; the learner of game g has seat g modulo the number of players.

        Raises:
            AgentFault: the victim raised or chose an illegal action.
        """
        with Blame(self.victim.who):
            self.victim.renew()
        options = PlayOptions(np.float32(blend), epsilon, np.float32(td_lambda))
        for number, game in enumerate(self.games):
            workspaces, games = self.workspaces[number], self._deal(number, key, first)
            states, seats = games.states, np.arange(first, first + self.each) % game.num_players
            rng = np.random.default_rng((key, first, game.num_players))
            while (running := states["current_player"] != NOBODY).any():
                own = np.flatnonzero(running & (states["current_player"] == seats))
                if own.size:
                    play_response_piece(CHUNKS, own, games, game.tables, game.lookups, net, options, workspaces)
                    turns.check_count(games.counts.min())
                else:  # all games wait for the victim, so that it decides for the largest batch
                    self.victim.play(game, states, np.flatnonzero(running), rng)
            set_all_targets(games, game.tables, options.td_lambda, workspaces)
        return self.sample_indices()

    def _deal(self, number: int, key: int, first: int) -> ResponseGames:
        """New games of one player count."""
        game, counts = self.games[number], self.counts[number]
        index = (np.arange(first, first + self.each) * MAX_PLAYERS + game.num_players - 1).astype(np.uint64)
        seeds = np.array([random_word(np.uint64(key), DEALS, word) for word in index], np.uint64)
        counts[:] = 0
        states = np.asarray(game.new_states(seeds))
        return ResponseGames(states, seeds, np.zeros(self.each, np.uint64), self.samples[number], counts)


@piece_kernel
def play_response_piece(chunk, lanes, games, tables, lookups, net, options, workspaces):
    """Play the learner's turn in a chunk of some lanes and store its samples."""
    workspace = workspaces[chunk]
    for number in batch.lanes_of(chunk, len(workspaces), len(lanes)):
        lane = lanes[number]
        workspace.current.state = games.states[lane]
        games.counts[lane] = play_turn(
            games.seeds[lane], games.moves[lane], tables[0], lookups[0], net[0], options, workspace,
            games.samples[lane], games.counts[lane],
        )  # fmt: skip
        games.states[lane] = workspace.current.state
        games.moves[lane] += np.uint64(1)


@kernel
def set_all_targets(games, tables, td_lambda, workspaces):
    """Replace what the samples of all games expected by their targets; the games are over."""
    workspace = workspaces[0]
    for lane in range(len(games.states)):
        workspace.current.state = games.states[lane]
        set_final_targets(tables[0], td_lambda, workspace, games.samples[lane], games.counts[lane])


# --- The run ---


class BestResponseRun(TDRun):
    """A run of TD whose games are against a victim.

    Raises:
        ValueError: the victim cannot play these games, or `hidden` is not the width of the victim's net, from which it starts.
    """

    settings_class: ClassVar[type[TDSettings]] = BestResponseSettings
    settings: BestResponseSettings

    def __init__(self, settings: BestResponseSettings) -> None:
        super().__init__(settings)
        if isinstance(self.victim, FrozenNet) and not settings.from_scratch:
            width = self.victim.agent.net.hidden
            if width != settings.hidden:
                raise ValueError(
                    f"hidden is {settings.hidden}; to start from the weights of {settings.victim} it must be {width}"
                )
            for net in (self.learner.net, self.learner.average):
                net[:] = self.victim.weights

    def make_generator(self) -> SelfPlay:
        """Games against the victim, with memory for their training samples."""
        victim = FrozenOpponent(self.settings.victim)
        if isinstance(victim.agent, ValueNetAgent):
            victim = FrozenNet(self.settings.victim, self.games)
        self.victim = victim
        return ResponsePlay(self.games, self.games_each, self.settings.hidden, victim)

    def references(self) -> tuple[str, ...]:
        """The victim."""
        return (self.settings.victim,)

    def about(self) -> dict[str, Any]:
        """How the response was trained, for its file."""
        return {**super().about(), "algorithm": "TD(λ) against frozen copies", "victim": self.settings.victim}

    def identity_parts(self) -> list[str]:
        """The features, and digests of the victim's decisions: another agent under the same spec makes another run."""
        return [*super().identity_parts(), *self._victim_digests]

    @functools.cached_property
    def _victim_digests(self) -> list[str]:
        return [ladder.Digests(game).of([self.settings.victim]) for game in self.games]


def budgets(agent: str | os.PathLike[str], victim: str) -> dict[str, int | None]:
    """The number of games that the response in a file and its victim learned from; None where the victim's is unknown."""
    return {
        "games": ValueNet.load(agent).about["training"]["games"],
        "victim_games": games_learned_from(victim),
    }
