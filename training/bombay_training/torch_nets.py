"""Nets in PyTorch: the value net of `zero` as a module and back, and policies or Q-values that you trained as policy nets.

`bombay_agents.make("zero").net` is a value net. `from_torch(module, like=net).save(path)` and `policy_net(…).save(path)` write
files for the agent `net:path=…`. The first layer of a value net is a sum of rows, one for each feature of a position (an
embedding bag). Needs PyTorch (extra `ppo`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.nets import files
from bombay_agents.nets.policy.net import Layer, PolicyNet
from bombay_agents.nets.value import encoding, features
from bombay_agents.nets.value.net import TEMPERATURE, TEMPERATURE_PER_TURN, ValueNet
from bombay_agents.turns.evaluator import MARGIN_UNIT, NUM_OUTPUTS
from bombay_env import MAX_PLAYERS, Game
from bombay_training.extras import missing_extra

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:
    raise ImportError(missing_extra("a net in PyTorch", "ppo", error)) from None


class ValueInputs(NamedTuple):
    """What a value net reads of k positions. Each tensor can be indexed, concatenated and moved to a device by itself.

    Args:
        rows: (k, features) int32, a row of the first layer for each feature; the padding for features of absent seats.
        final: (k, 5) float32, rupees of each seat if the game ended now, in seat order from the viewer; 0 for absent seats.
        turns_left: (k,) float32, the viewer's turns to come.
        num_players: (k,) int64.
    """

    rows: Tensor
    final: Tensor
    turns_left: Tensor
    num_players: Tensor


class TorchValueNet(nn.Module):
    """A value net. Its first layer has one row more than the `ValueNet`: the padding, which is always zero.

    Args:
        features: digest of what the rows mean, as the `ValueNet` has it.
        num_rows: rows of the first layer, without the padding.
        hidden: units of the first hidden layer.
        second: units of the second hidden layer.
    """

    def __init__(self, features: str, num_rows: int, hidden: int, second: int) -> None:
        super().__init__()
        self.features = features
        self.first = nn.EmbeddingBag(num_rows + 1, hidden, mode="sum", padding_idx=num_rows)
        self.first_bias = nn.Parameter(torch.zeros(hidden))
        self.second = nn.Linear(hidden, second)
        self.last = nn.Linear(second, NUM_OUTPUTS)

    def forward(self, inputs: ValueInputs) -> tuple[Tensor, Tensor]:
        """Value positions.

        Args:
            inputs: of k positions, on the module's device.

        Returns:
            Margins, (k, 5) float32: rupees at the end above the mean of all seats, in tens. Shares of the win, (k, 5) float32.
            Both are in seat order from the viewer, and 0 for absent seats.
        """
        hidden = torch.relu(self.first(inputs.rows) + self.first_bias)
        margin, logit = self.last(torch.relu(self.second(hidden))).split(MAX_PLAYERS, dim=1)
        count = inputs.num_players[:, None]
        absent = torch.arange(MAX_PLAYERS, device=count.device) >= count
        margin = (inputs.final / MARGIN_UNIT + margin).masked_fill(absent, 0)
        margin = (margin - margin.sum(dim=1, keepdim=True) / count).masked_fill(absent, 0)
        temperature = TEMPERATURE + TEMPERATURE_PER_TURN * inputs.turns_left[:, None]
        share = (inputs.final / temperature + logit).masked_fill(absent, -torch.inf).softmax(dim=1)
        return margin, share

    def inputs(self, game: Game, states: np.ndarray, seats: Any) -> ValueInputs:
        """What the net reads of positions between turns. The net of `zero` has learned from ends of turns, before any restock.

        Args:
            game: what is played.
            states: (k,) states of running games, unchanged.
            seats: the viewers: (k,) integers below `num_players`, or one integer for all. `zero` sees each end of a turn as the
                seat that has just moved.

        Raises:
            ValueError: the net reads other features than this game's, a state is not sound or its game is over, or a seat is out
                of range.
        """
        num_sites = game.board.num_sites
        row_count = ("rows", self.first.num_embeddings - 1, features.num_rows(num_sites))
        files.check_fits("value net", (("features", self.features, features.digest(num_sites)), row_count))
        records = game.check_states(states)
        viewers = game.check_seats(seats, len(records))
        if game.is_terminal(records).any():
            raise ValueError("states has games that are over; their results say who has won")
        node = np.zeros(1, turns.memory_dtype(num_sites)["node"].base)
        workspace = np.zeros(1, encoding.workspace_dtype(num_sites, self.first.embedding_dim))
        encoding.set_constants(workspace, num_sites)
        rows = np.empty((len(records), workspace["first"].shape[1]), np.int32)
        final = np.empty((len(records), MAX_PLAYERS), np.float32)
        turns_left = np.empty(len(records), np.float32)
        encoding.encode_positions(records, viewers, game.tables, node, workspace, rows, final, turns_left)
        rows[rows == encoding.NO_ROW] = self.first.padding_idx
        num_players = torch.full((len(records),), game.num_players)
        return ValueInputs(torch.from_numpy(rows), torch.from_numpy(final), torch.from_numpy(turns_left), num_players)


def to_torch(net: ValueNet) -> TorchValueNet:
    """The same net in PyTorch, on the CPU. It has its own copy of the weights."""
    module = TorchValueNet(net.features, len(net.first), *net.units)
    weights = {
        "first.weight": np.pad(net.first, ((0, 1), (0, 0))),
        "first_bias": net.first_bias,
        "second.weight": net.second.T,
        "second.bias": net.second_bias,
        "last.weight": net.last.T,
        "last.bias": net.last_bias,
    }
    module.load_state_dict({name: torch.tensor(weight) for name, weight in weights.items()})
    return module


def from_torch(module: TorchValueNet, like: ValueNet) -> ValueNet:
    """The value net of a module. It has its own copy of the weights. Its `save` rounds the first layer to half precision.

    Args:
        module: on any device.
        like: the net that the module was made from. The result has its `share_weight` and its `about`, which among other things
            names the games that the net may play.

    Raises:
        ValueError: a weight is not finite or not float32.
    """
    weights = {name: weight.cpu().numpy() for name, weight in module.state_dict().items()}
    return dataclasses.replace(
        like,
        features=module.features,
        first=weights["first.weight"][:-1].copy(),
        first_bias=weights["first_bias"].copy(),
        second=weights["second.weight"].T.copy(),
        second_bias=weights["second.bias"].copy(),
        last=weights["last.weight"].T.copy(),
        last_bias=weights["last.bias"].copy(),
    )


def policy_net(
    games: Sequence[Game],
    policy: nn.Module,
    value: nn.Module | None = None,
    trunk: nn.Module | None = None,
    activation: str = "relu",
    observation_mode: str = "perfect_recall",
    training: Mapping[str, Any] | None = None,
) -> PolicyNet:
    """A policy net from modules that were trained on observations. It has its own copy of the weights.

    Modules are layers in order: `nn.Linear`, with the activation between them. The agent plays the legal action with the highest
    logit, so `policy` may as well give Q-values.

    Args:
        games: that the net may play. They have one board.
        policy: from the trunk's output, or from an observation, to logits of all actions.
        value: from the same input to one number; None for 0.
        trunk: what policy and value share. The activation also follows its last layer.
        activation: "relu" or "tanh".
        observation_mode: "perfect_recall" or "screened", as in training.
        training: what the net's file says about its training; JSON values by name.

    Raises:
        ValueError: a module has other layers, they do not fit one another or the game, or a weight is not finite or not float32.
    """
    shared, chosen = _layers(trunk, activation), _layers(policy, activation)
    if not chosen:
        raise ValueError("policy has no nn.Linear layer")
    width = len(shared[-1][1]) if shared else chosen[0][0].shape[1]
    nothing = ((np.zeros((1, width), np.float32), np.zeros(1, np.float32)),)
    parts = {"trunk": shared, "policy": chosen, "value": nothing if value is None else _layers(value, activation)}
    about = {**files.about_games(games), "training": dict(training or {})}
    net = PolicyNet(parts, activation, games[0].feature_layout.digest, observation_mode, about)
    sizes, expected = (net.num_features, net.num_actions), (games[0].num_features, games[0].num_actions)
    if sizes != expected:
        raise ValueError(f"the layers have (inputs, outputs) {sizes}; they must have {expected}, features and actions")
    return net


def _layers(module: nn.Module | None, activation: str) -> tuple[Layer, ...]:
    parts = [] if module is None else [part for part in module.modules() if not list(part.children())]
    known = (
        nn.Linear,
        nn.Identity,
        nn.Flatten,
        nn.Dropout,
        {"relu": nn.ReLU, "tanh": nn.Tanh}.get(activation, nn.Identity),
    )
    for part in parts:
        if not isinstance(part, known):
            raise ValueError(f"a module has a layer {type(part).__name__}; there may be nn.Linear and {activation}")
    linear = [part for part in parts if isinstance(part, nn.Linear)]
    weights = [layer.weight.detach().cpu().numpy().copy() for layer in linear]
    biases = [
        np.zeros(len(weight), np.float32) if layer.bias is None else layer.bias.detach().cpu().numpy().copy()
        for layer, weight in zip(linear, weights, strict=True)
    ]
    return tuple(zip(weights, biases, strict=True))
