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
from typing import Any, ClassVar, Final

import numpy as np

from bombay_agents import make, turns
from bombay_agents.nets import value_features, value_net
from bombay_agents.nets.value_net_agent import ValueNet, ValueNetAgent
from bombay_agents.scripted import outcome_values
from bombay_env import Game, batch
from bombay_env.agent import Blame, ask
from bombay_env.chance import random_word
from bombay_env.jit.kernels import kernel, piece_kernel
from bombay_env.rules import MAX_PLAYERS, NUM_COLOURS
from bombay_env.state import NOBODY
from bombay_training.evaluation import ladder
from bombay_training.learners.runs import require
from bombay_training.learners.td.run import TDRun, TDSettings
from bombay_training.learners.td.self_play import CHUNKS, SelfPlay, set_targets, take_turn

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


class Victim:
    """Any agent as a victim.

    Args:
        spec: of the agent.
    Raises:
        ValueError: there is none, or it plays by the clock, so that nothing would repeat.
    """

    def __init__(self, spec: str) -> None:
        self.spec, self.who = spec, f"victim {spec!r}"
        self.renew()
        if getattr(self.agent, "ms", None) is not None:
            raise ValueError(f"the victim {spec} thinks by the clock; give it a budget in rollouts or nodes")

    def renew(self) -> None:
        """Make it anew: what it may have kept in mind has no part in games to come."""
        self.agent = make(self.spec)

    def move(self, memory: SelfPlay, number: int, states: np.ndarray, lanes: np.ndarray, rng: Any) -> None:
        """Decide in these lanes of `states`, once or for the whole turn.

        Raises:
            AgentFault: the victim raised or chose an illegal action.
        """
        game, some = memory.games[number], states[lanes]
        game.step(some, ask(self.agent, game, some, rng, seeds=rng, who=self.who))
        states[lanes] = some


class NetVictim(Victim):
    """A value net, asked for many games at once.

    Raises:
        ValueError: the net is for other games.
    """

    agent: ValueNetAgent

    def __init__(self, spec: str, games: list[Game]) -> None:
        super().__init__(spec)
        for game in games:
            self.agent.evaluator(game)  # finds out whether it fits
        net = self.agent.net
        self.weights, self.blend = net.record(), np.float32(net.blend)
        self.readers = [value_features.new_readers(game, CHUNKS, self.agent.rounds) for game in games]
        self.work = np.zeros(CHUNKS, value_net.work_dtype(net.num_features, net.hidden))

    def renew(self) -> None:
        """Read its file, once: it keeps nothing in mind."""
        if not hasattr(self, "agent"):
            super().renew()

    def move(self, memory: SelfPlay, number: int, states: np.ndarray, lanes: np.ndarray, rng: Any) -> None:
        """Play the turn in these lanes."""
        game, (raw, reader) = memory.games[number], self.readers[number]
        done = np.zeros(len(lanes), np.bool_)
        follow_piece(
            CHUNKS, lanes, states, game.tables, game.lookups, self.weights, memory.scales, self.blend,
            memory.turns, memory.turns["node"]["state"], raw, reader, self.work, memory.values, done,
        )  # fmt: skip
        turns.check_count(0 if done.all() else turns.TOO_MANY)


@piece_kernel
def follow_piece(
    chunk, lanes, states, tables, lookups, net, scales, blend, memory, nodes, raw, reader, work, values, done
):  # fmt: skip
    """Play the turn in a chunk of some lanes as the net likes best; `done` says where there was room to lay it out."""
    drawn = np.empty(NUM_COLOURS, np.int64)
    for number in batch.lanes_of(chunk, len(memory), len(lanes)):
        lane = lanes[number]
        nodes[chunk, 0] = states[lane]
        laid = value_net.value_turn(
            tables[0], lookups[0], net[0], scales, blend, memory[chunk],
            raw[chunk], reader[chunk], work[chunk], values[chunk],
        )  # fmt: skip
        if laid != turns.TOO_MANY:
            best = outcome_values.best_outcome(memory[chunk], values[chunk], laid)
            states[lane] = nodes[chunk, best]
            if memory[chunk].node[best].due == turns.RESTOCK_DUE:
                batch.restock(states[lane], tables[0], drawn)
            done[number] = True


# --- games ---


class ResponsePlay(SelfPlay):
    """The memory in which games of one learner against copies of a victim are played; see `SelfPlay`."""

    def __init__(self, games: list[Game], each: int, hidden: int, victim: Victim) -> None:
        super().__init__(games, each, hidden)
        self.victim = victim

    def play(self, net: np.ndarray, key: int, first: int, blend: float, epsilon: float, td_lambda: float) -> np.ndarray:
        """Play games `first` and on of each number of players; the learner of game g sits in seat g modulo their number.

        Raises:
            AgentFault: the victim raised or chose an illegal action.
        """
        with Blame(self.victim.who):
            self.victim.renew()
        for number, game in enumerate(self.games):
            numbers = np.arange(first, first + self.each)
            seats = numbers % game.num_players
            index = (numbers * MAX_PLAYERS + game.num_players - 1).astype(np.uint64)
            seeds = np.array([random_word(np.uint64(key), DEALS, word) for word in index], np.uint64)
            states = np.asarray(game.new_states(seeds))
            rng = np.random.default_rng((key, first, game.num_players))
            raw, reader = self.readers[number]
            moves, counts = np.zeros(self.each, np.uint64), self.counts[number]
            counts[:] = 0
            while (running := states["current_player"] != NOBODY).any():
                mine = np.flatnonzero(running & (states["current_player"] == seats))
                if not mine.size:  # then all others wait for the victim, so that it is asked for as many as can be
                    self.victim.move(self, number, states, np.flatnonzero(running), rng)
                    continue
                respond_piece(
                    CHUNKS, mine, states, game.as_readings(states), seeds, moves, game.tables, game.lookups, net, self.scales,
                    np.float32(blend), epsilon, self.turns, self.turns["node"]["state"], raw, reader, self.work,
                    self.values, self.samples[number], counts,
                )  # fmt: skip
                turns.check_count(counts.min())
            teach_all(states, game.tables, np.float32(td_lambda), self.work, self.samples[number], counts)
        return self.written()


@piece_kernel
def respond_piece(
    chunk, lanes, states, readings, seeds, moves, tables, lookups, net, scales, blend, epsilon,
    memory, nodes, raw, reader, work, values, samples, counts,
):  # fmt: skip
    """Play the learner's turn in a chunk of some lanes and write its end down."""
    drawn = np.empty(NUM_COLOURS, np.int64)
    for number in batch.lanes_of(chunk, len(memory), len(lanes)):
        lane = lanes[number]
        counts[lane] = take_turn(
            states, readings, lane, seeds[lane], moves[lane], tables[0], lookups[0], net[0], scales, blend, epsilon,
            memory[chunk], nodes, chunk, raw[chunk], reader[chunk], work[chunk], values[chunk], drawn,
            samples[lane], counts[lane],
        )  # fmt: skip
        moves[lane] += np.uint64(1)


@kernel
def teach_all(states, tables, td_lambda, work, samples, counts):
    """Overwrite what samples expected with what they teach; all games are over."""
    for lane in range(len(states)):
        value_net.answer_over(states[lane], tables[0], np.int64(0), work[0])
        set_targets(np.int64(tables[0].num_players), td_lambda, work[0], samples[lane], counts[lane])


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
        if isinstance(self.victim, NetVictim) and not settings.from_scratch:
            width = self.victim.agent.net.hidden
            if width != settings.hidden:
                raise ValueError(
                    f"hidden is {settings.hidden}; to start from the weights of {settings.victim} it must be {width}"
                )
            for net in (self.learner.net, self.learner.average):
                net[:] = self.victim.weights

    def make_generator(self) -> SelfPlay:
        """Games against the victim, with memory for their training samples."""
        victim: Victim = Victim(self.settings.victim)
        if isinstance(victim.agent, ValueNetAgent):
            victim = NetVictim(self.settings.victim, self.games)
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
