"""The value net in PyTorch: it values positions as the agent does, and its weights come back unchanged."""

import numpy as np
import pytest

import bombay_agents
from bombay_agents.nets.value import evaluator as value_evaluator
from helpers.nets import TABLES, as_played, random_net, starts_of_turns, value_of
from helpers.refusal import refusal

torch = pytest.importorskip("torch")
from bombay_training import torch_nets  # noqa: E402 - needs PyTorch


def some_positions(game, count):
    """Positions between turns, and a viewer of each."""
    states = starts_of_turns(game, 4 * count, 7)[:count]
    assert len(states) == count
    return states, np.random.default_rng(0).integers(game.num_players, size=count)


@pytest.mark.parametrize("net", [random_net(*TABLES), bombay_agents.make("zero").net], ids=["random weights", "zero"])
@pytest.mark.parametrize("game", TABLES, ids=["2", "3", "4", "5"])
def test_it_values_positions_as_the_compiled_net_does(game, net):
    """50 positions for each number of players; with the same weights, and nearly so with those that are not rounded."""
    states, viewers = some_positions(game, 50)
    evaluator = value_evaluator.new_evaluator(game, net)
    expected = [value_of(game, evaluator, state, viewer) for state, viewer in zip(states, viewers, strict=True)]
    for weights, tolerance in ((as_played(net), 2e-5), (net, 0.01)):
        module = torch_nets.to_torch(weights)
        with torch.no_grad():
            found = torch.stack(module(module.inputs(game, states, viewers)), dim=1).numpy()
        np.testing.assert_allclose(found[:, :, : game.num_players], expected, rtol=0, atol=tolerance)
    assert np.ptp(np.array(expected)[:, 1], axis=0).min() > 0.01
    assert (found[:, :, game.num_players :] == 0).all()


def test_positions_of_several_player_counts_make_one_batch():
    net = random_net(*TABLES)
    module = torch_nets.to_torch(net)
    parts = [module.inputs(game, game.new_states([1, 2]), 0) for game in TABLES]
    whole = module(torch_nets.ValueInputs(*map(torch.cat, zip(*parts, strict=True))))
    for output, each in zip(whole, zip(*map(module, parts), strict=True), strict=True):
        torch.testing.assert_close(output, torch.cat(each), rtol=0, atol=1e-6)


def test_weights_come_back_bit_for_bit():
    net = bombay_agents.make("zero").net
    back = torch_nets.from_torch(torch_nets.to_torch(net), like=net)
    assert back.record().tobytes() == net.record().tobytes()
    assert (back.features, back.share_weight, back.about) == (net.features, net.share_weight, net.about)


def test_a_step_of_learning_changes_all_layers_of_the_module_and_not_the_net():
    game, net = TABLES[1], random_net(*TABLES)
    before, module = net.record().tobytes(), torch_nets.to_torch(net)
    margins, shares = module(module.inputs(game, game.new_states(range(8)), 0))
    loss = margins.square().mean() + (shares - 1 / 3).square().mean()
    loss.backward()
    torch.optim.SGD(module.parameters(), 0.1).step()
    learned = torch_nets.from_torch(module, like=net)
    for name in ("first", "first_bias", "second", "second_bias", "last", "last_bias"):
        assert (getattr(learned, name) != getattr(net, name)).any(), name
    assert not module.first.weight[-1].any()  # the padding
    assert net.record().tobytes() == before


def test_what_a_net_cannot_read_is_refused():
    game, module = TABLES[0], torch_nets.to_torch(random_net(*TABLES))
    states = game.new_states([1])
    with pytest.raises(ValueError, match="seats must be from 0 to 1"):
        module.inputs(game, states, 2)
    game.rollout(states, [1])
    with pytest.raises(ValueError, match="states has games that are over"):
        module.inputs(game, states, 0)
    module.features = "0123456789abcdef"  # that of a board with another number of sites
    with pytest.raises(ValueError, match="value net was trained on features 0123456789abcdef; this game's are"):
        module.inputs(game, game.new_states([1]), 0)


@pytest.mark.parametrize("trunk", [None, torch.nn.Linear(584, 16)], ids=["no trunk", "a trunk"])
def test_a_policy_plays_its_best_legal_action(trunk, tmp_path):
    game = TABLES[2]
    width = 584 if trunk is None else 16
    policy = torch.nn.Sequential(torch.nn.Linear(width, 8), torch.nn.Tanh(), torch.nn.Linear(8, game.num_actions))
    value = torch.nn.Linear(width, 1)
    torch_nets.policy_net([game], policy, value, trunk, activation="tanh").save(tmp_path / "net.safetensors")
    agent = bombay_agents.make(f"net:path={tmp_path / 'net.safetensors'}")
    states = starts_of_turns(game, 40, 7)
    seen, masks = torch.from_numpy(game.observe(states)), torch.from_numpy(game.legal_actions(states))
    with torch.no_grad():
        hidden = seen if trunk is None else torch.tanh(trunk(seen))
        expected = policy(hidden).masked_fill(~masks, -torch.inf).argmax(dim=1)
        values = value(hidden)[:, 0]
    assert agent.act(game, states, np.random.default_rng(0)).tolist() == expected.tolist()
    assert len(set(expected.tolist())) > 1
    np.testing.assert_allclose(agent.net.forward(seen.numpy())[1], values, rtol=0, atol=1e-5)
    refusal(
        lambda: agent.act(TABLES[0], TABLES[0].new_states([1]), np.random.default_rng(0)), "not trained on these rules"
    )


def test_a_policy_needs_no_value_but_a_layer():
    game = TABLES[2]
    net = torch_nets.policy_net([game], torch.nn.Linear(584, game.num_actions), training={"algorithm": "none"})
    assert (net.forward(game.observe(game.new_states([1, 2])))[1] == 0).all()
    assert net.about["training"] == {"algorithm": "none"}
    without_bias = torch_nets.policy_net([game], torch.nn.Linear(584, game.num_actions, bias=False))
    assert (without_bias.parts["policy"][0][1] == 0).all()


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (torch.nn.ReLU(), "no nn.Linear layer"),
        (torch.nn.Sequential(torch.nn.Linear(584, 39), torch.nn.Tanh()), "a layer Tanh"),
        (torch.nn.Sequential(torch.nn.LayerNorm(584), torch.nn.Linear(584, 39)), "a layer LayerNorm"),
        (torch.nn.Linear(584, 38), "(584, 38); they must have (584, 39)"),
    ],
    ids=str,
)
def test_a_module_that_the_net_would_not_play_is_refused(policy, words):
    refusal(lambda: torch_nets.policy_net([TABLES[2]], policy), words)
