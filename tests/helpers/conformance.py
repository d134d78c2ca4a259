"""One game through every interface: the same seed and actions, and all that the interface shows of it, in one form.

A driver plays `Script.actions` from `Script.seed` and returns `Played`. It shows each decision to at least the seat that moves;
where an interface shows other seats too, they are in `views`. `engine` is the reference. A new interface gets a driver here.
"""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bombay_env import Board, Game, Rules, bombay_v0
from bombay_env.envs.single import BombaySingleEnv
from bombay_env.envs.vector import BombayVectorEnv
from bombay_env.rewards import seat_rewards

Views = dict[int, np.ndarray]  # seat → observation (F,) float32


@dataclass
class Played:
    """A game as an interface showed it.

    Attributes:
        movers: the seat of each decision.
        masks: for each decision (A,) bool.
        views: for each decision what seats see, the mover among them.
        final: what seats see after the end.
        rewards: (n,) the sum of what each seat was paid.
    """

    movers: list[int] = field(default_factory=list)
    masks: list[np.ndarray] = field(default_factory=list)
    views: list[Views] = field(default_factory=list)
    final: Views = field(default_factory=dict)
    rewards: list[float] = field(default_factory=list)

    def see(self, mover, mask, views):
        self.movers.append(int(mover))
        self.masks.append(np.array(mask, bool))
        self.views.append({seat: np.array(view, np.float32) for seat, view in views.items()})


@dataclass(frozen=True)
class Script:
    """A game to play: who plays what, and how it is observed and paid."""

    n: int
    seed: int
    mode: str
    reward: str
    actions: tuple[int, ...]
    movers: tuple[int, ...]
    by_state: dict[bytes, int]  # the actions by the state in which they are played
    board: Board | None = None

    @property
    def game(self):
        return Game(Rules.official(self.n), self.board)

    @property
    def screened(self):
        return self.mode == "screened"

    @property
    def arguments(self):
        return {"num_players": self.n, "board": self.board, "observation_mode": self.mode, "reward": self.reward}


class Replay:
    """An agent that plays the scripts' actions, found by the state; in all other states the first legal action."""

    name = "replay"

    def __init__(self, *scripts):
        self.by_state = {key: action for script in scripts for key, action in script.by_state.items()}

    def act(self, game, states, rng):
        first = game.legal_actions(states).argmax(axis=1)
        return np.array([self.by_state.get(key(states, i), first[i]) for i in range(len(states))], np.int64)


def key(states, lane=0):
    """A state without its seed."""
    copy = states[lane : lane + 1].copy()
    copy["seed"] = 0
    return copy.tobytes()


def write(n, seed, mode="perfect_recall", reward="win", board=None):
    """A script of random legal actions."""
    game, rng = Game(Rules.official(n), board), np.random.default_rng(seed)
    states, actions, movers, by_state = game.new_states([seed]), [], [], {}
    while not game.is_terminal(states)[0]:
        movers.append(int(game.current_player(states)[0]))
        actions.append(int(rng.choice(np.flatnonzero(game.legal_actions(states)[0]))))
        by_state[key(states)] = actions[-1]
        game.step(states, actions[-1:])
    return Script(n, seed, mode, reward, tuple(actions), tuple(movers), by_state, board)


# --- drivers ---


def engine(script):
    """`Game` on arrays of one state."""
    game, played = script.game, Played()
    states = game.new_states([script.seed])

    def views():
        return {seat: game.observe(states, seats=seat, screened=script.screened)[0] for seat in range(script.n)}

    for action in script.actions:
        played.see(game.current_player(states)[0], game.legal_actions(states)[0], views())
        game.step(states, [action])
    played.final = views()
    played.rewards = seat_rewards(game.results(states), script.reward)[0].tolist()
    return played


def aec(script):
    """PettingZoo."""
    env, played = bombay_v0.env(**script.arguments), Played()
    env.reset(seed=script.seed)
    seats = env.possible_agents
    played.rewards = [0.0] * script.n

    def views():
        return {seat: env.observe(agent)["observation"] for seat, agent in enumerate(seats)}

    for action in script.actions:
        mask = env.observe(env.agent_selection)["action_mask"]
        assert (env.infos[env.agent_selection]["action_mask"] == mask).all()
        played.see(seats.index(env.agent_selection), mask, views())
        env.step(action)
        played.rewards = [sum(pair) for pair in zip(played.rewards, map(env.rewards.get, seats), strict=True)]
    played.final = views()
    assert all(env.terminations.values())
    return played


def seat_by_seat(script, play_seat):
    """A game from games with one learner: `play_seat(seat)` yields mask and view of each decision, at last view and reward."""
    games = [play_seat(seat) for seat in range(script.n)]
    played = Played()
    for seat in script.movers:
        mask, view = next(games[seat])
        played.see(seat, mask, {seat: view})
    for seat, one in enumerate(games):
        played.final[seat], reward = next(one)
        played.rewards.append(reward)
    return played


def own_actions(script, seat):
    """The actions of one seat, in order."""
    return [action for action, mover in zip(script.actions, script.movers, strict=True) if mover == seat]


def gymnasium(script):
    """One learner, the others replayed inside; once for each seat."""

    def play(seat):
        env = BombaySingleEnv(opponents=Replay(script), seat=seat, illegal_action="raise", **script.arguments)
        view, info = env.reset(seed=script.seed)
        total = 0.0
        for action in own_actions(script, seat):
            assert (info["action_mask"] == env.action_masks()).all()
            yield info["action_mask"], view
            view, reward, over, _, info = env.step(action)
            total += reward
        assert over
        yield view, total

    return seat_by_seat(script, play)


def vector(script):
    """The vector environment: the game in lane 1 of three, the neighbours' seeds beside it."""
    others = [
        write(script.n, seed, script.mode, script.reward, script.board) for seed in (script.seed - 1, script.seed + 1)
    ]
    scripts = [others[0], script, others[1]]

    def play(seat):
        env = BombayVectorEnv(
            3,
            opponents=Replay(*scripts),
            seat=seat,
            autoreset_mode="same_step",
            illegal_action="raise",
            **script.arguments,
        )
        views, infos = env.reset(seed=script.seed - 1)
        queues = [own_actions(one, seat) for one in scripts]
        total = 0.0
        while queues[1]:
            masks = env.action_masks()
            assert (infos["action_mask"] == masks).all()
            yield masks[1], views[1]
            actions = [queue.pop(0) if queue else mask.argmax() for queue, mask in zip(queues, masks, strict=True)]
            views, rewards, over, _, infos = env.step(np.array(actions))
            total += rewards[1]
        assert over[1]
        yield infos["final_obs"][1], total

    return seat_by_seat(script, play)


def sb3(script):
    """Stable-Baselines3's `DummyVecEnv` on the Gymnasium environment, as MaskablePPO uses it."""
    from sb3_contrib.common.maskable.utils import get_action_masks
    from stable_baselines3.common.env_util import make_vec_env

    def play(seat):
        arguments = {"opponents": Replay(script), "seat": seat, "illegal_action": "raise", **script.arguments}
        envs = make_vec_env("bombay/Bombay-v0", n_envs=1, seed=script.seed, env_kwargs=arguments)
        views, total = envs.reset(), 0.0
        for action in own_actions(script, seat):
            yield get_action_masks(envs)[0], views[0]
            views, rewards, over, infos = envs.step(np.array([action]))
            total += rewards[0]
        assert over[0]
        yield infos[0]["terminal_observation"], total

    return seat_by_seat(script, play)


def sb3_self_play(script):
    """The `VecEnv` of this project's PPO. It pays by win or by margin."""
    from bombay_training.learners.ppo.vec_env import BombayVecEnv

    blend = {"win": 1.0, "margin": 0.0}[script.reward]
    env = BombayVecEnv([script.game], 1, 0, blend, observation_mode=script.mode)
    env.next_seeds = np.array([script.seed], np.uint64)  # its seed is a key of many games
    views, played = env.reset(), Played(rewards=[0.0] * script.n)
    reference = engine(script)
    for action, mover in zip(script.actions, reference.movers, strict=True):
        seat_views = env.seat_views()[0]
        assert (views[0] == seat_views[mover]).all()
        played.see(mover, env.action_masks()[0], dict(enumerate(seat_views[: script.n])))
        views, rewards, over, infos = env.step(np.array([action]))
        assert env.last_seats[0] == mover
        assert rewards[0] == env.last_seat_rewards[0, mover]
        played.rewards = [sum(pair) for pair in zip(played.rewards, env.last_seat_rewards[0].tolist(), strict=False)]
    assert over[0]
    played.final = {0: infos[0]["terminal_observation"]}
    return played


def torchrl(script):
    """TorchRL's `PettingZooWrapper`, all seats in one group."""
    import torch
    from torchrl.envs.libs.pettingzoo import PettingZooWrapper

    raw = bombay_v0.env(**script.arguments)
    env = PettingZooWrapper(raw, use_mask=True, group_map={"player": raw.possible_agents})
    now, played = env.reset(seed=script.seed), Played(rewards=[0.0] * script.n)

    def views():
        return dict(enumerate(now["player", "observation", "observation"].numpy()))

    for action in script.actions:
        (mover,) = now["player", "mask"].nonzero().flatten().tolist()
        played.see(mover, now["player", "action_mask"][mover].numpy(), views())
        now["player", "action"] = torch.full((script.n,), action)
        now = env.step(now)["next"]
        paid = now["player", "reward"].flatten().tolist()
        played.rewards = [sum(pair) for pair in zip(played.rewards, paid, strict=True)]
    assert now["done"]
    played.final = views()
    return played


def rllib(script):
    """RLlib's `PettingZooEnv`, which shows the seat to act, and all seats after the end."""
    from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv

    raw, played = bombay_v0.env(**script.arguments), Played(rewards=[0.0] * script.n)
    env, seats = PettingZooEnv(raw), raw.possible_agents  # RLlib keeps the agents in a set, without order
    seen, _ = env.reset(seed=script.seed)
    for action in script.actions:
        ((agent, view),) = seen.items()
        seat = seats.index(agent)
        played.see(seat, view["action_mask"], {seat: view["observation"]})
        seen, paid, over, _, _ = env.step({agent: action})
        for other, reward in paid.items():
            played.rewards[seats.index(other)] += reward
    assert over["__all__"]
    played.final = {seats.index(agent): view["observation"] for agent, view in seen.items()}
    return played


def openspiel(script):
    """OpenSpiel, with the chance outcomes of the seed."""
    from bombay_training.openspiel import BombayGame
    from bombay_training.play.draft import Draft

    parameters, played = {"players": script.n, "reward": script.reward}, Played()
    with tempfile.TemporaryDirectory() as folder:
        if script.board is not None:
            parameters["board"] = str(Path(folder) / "board.toml")
            Draft.of_board(script.board, script.board.name, trails=True).write(Path(parameters["board"]))
        game = BombayGame(parameters)
    states = game.game.new_states([script.seed])
    state = game.new_initial_state()

    def views():
        return {seat: state.observation_tensor(seat)[script.n :] for seat in range(script.n)}  # after the seat itself

    for action in script.actions:
        while state.is_chance_node():
            state.apply_action(state.outcome_to(states))
        played.see(state.current_player(), state.legal_actions_mask(), views())
        state.apply_action(action)
        game.game.step(states, [action])
    assert state.is_terminal()
    played.final, played.rewards = views(), state.returns()
    played.final = {seat: np.array(view, np.float32) for seat, view in played.final.items()}
    return played
