"""The layout of observations: slices, documentation, digests and bounds."""

import dataclasses

import numpy as np
import pytest

from bombay_env import Board, Game, Rules
from bombay_env.observation import layout as layouts
from bombay_env.observation.layout import FeatureLayout
from helpers.hostile_states import LARGE
from helpers.position import each_count, official, position, variant
from helpers.views import COMPARED, HIDDEN, SLOW, close, passed_through, seen

# --- the layout ---


@pytest.mark.parametrize("num_sites", [21, 64])
def test_slices_partition_the_vector(num_sites):
    layout = FeatureLayout(num_sites)
    names = [piece.name for piece in layout.pieces]
    assert len(set(names)) == len(names)
    assert list(layout.slices) == names
    at = 0
    for piece in layout.pieces:
        assert layout[piece.name] == slice(at, at + int(np.prod(piece.shape))), piece.name
        at += int(np.prod(piece.shape))
    assert at == layout.num_features == len(layout.low) == len(layout.high)


def test_split_gives_views_of_every_piece():
    layout = FeatureLayout(24)
    flat = np.arange(2 * 3 * layout.num_features, dtype=np.float32).reshape(2, 3, -1)
    pieces = layout.split(flat)
    for piece in layout.pieces:
        assert pieces[piece.name].shape == (2, 3, *piece.shape)
        assert np.shares_memory(pieces[piece.name], flat)
    assert (np.concatenate([part.reshape(2, 3, -1) for part in pieces.values()], axis=-1) == flat).all()
    assert layout.split(flat[0, 0])["market"].shape == (3, 4)


def test_every_feature_has_finite_bounds_near_one():
    layout = official(4).feature_layout
    assert (layout.low.dtype, layout.high.dtype) == (np.float32, np.float32)
    assert (layout.low >= -1).all()
    assert (layout.high <= 2).all()
    assert (layout.low < layout.high).all()


def test_the_table_describes_every_piece():
    layout = official(4).feature_layout
    rows = layout.table().splitlines()
    assert len(rows) == 2 + len(layout.pieces)
    for row, piece in zip(rows[2:], layout.pieces, strict=True):
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        where = layout[piece.name]
        shape = "×".join(map(str, piece.shape))
        bounds = f"{piece.low:g} … {piece.high:g}"
        assert cells == [f"{where.start}–{where.stop - 1}", f"`{piece.name}`", shape, bounds, piece.description]
        assert piece.description


def with_piece(which, /, **changes):
    """The layout with one piece changed."""
    layout = FeatureLayout(24)
    pieces = tuple(dataclasses.replace(p, **changes) if p.name == which else p for p in layout.pieces)
    layout.__dict__["pieces"] = pieces
    return layout


def test_the_digest_identifies_the_layout(monkeypatch):
    digest = FeatureLayout(24).digest
    assert len(digest) == 16
    assert official(2).feature_layout.digest == digest
    assert FeatureLayout(25).digest != digest
    reworded = with_piece("rupees", description="said in other words")
    assert reworded.table() != FeatureLayout(24).table()
    assert reworded.digest == digest
    for change in ({"per": 10}, {"high": 3}, {"low": -1.0}, {"shape": (4,)}, {"name": "money"}, {"hidden": False}):
        assert with_piece("rupees", **change).digest != digest, change
    monkeypatch.setattr(layouts, "LAYOUT_VERSION", layouts.LAYOUT_VERSION + 1)
    assert FeatureLayout(24).digest != digest


def test_the_layout_depends_on_the_board_and_not_on_the_rules():
    assert official(2).num_features == official(5).num_features == variant(3, palaces=40).num_features
    assert Game(Rules.official(2), Board.random(5)).feature_layout == official(4).feature_layout


def test_hidden_pieces_are_marked():
    hidden = {piece.name for piece in official(4).feature_layout.pieces if piece.hidden}
    assert hidden == {*HIDDEN, *COMPARED}


# --- bounds ---


@each_count
def test_every_value_is_finite_and_within_its_bounds(n):
    for game, states in passed_through(n, games=1 if SLOW else 8, every=29 if SLOW else 4):
        low, high = game.feature_layout.low, game.feature_layout.high
        for seat in range(n):
            for screened in (False, True):
                obs = game.observe(states, seats=seat, screened=screened)
                assert np.isfinite(obs).all()
                assert (obs >= low).all()
                assert (obs <= high).all()


def test_the_largest_possible_numbers_stay_within_the_bounds():
    game = Game(dataclasses.replace(LARGE, market_actions=(9, 9, 9), hill_cost=9, move_cost=9))
    states = game.new_states([1])
    states["market"] = [[20] * 4, [0] * 4, [0] * 4]
    states["clients"][0, 0] = 10_000
    states["city_palace_tokens"][0, 0] = 8
    states["basket"][0, :2] = [[9, 0, 0, 0], [0, 0, 0, 9]]
    for seat in (0, 1):
        for screened in (False, True):
            obs = game.observe(states, seats=seat, screened=screened)
            assert (obs >= game.feature_layout.low).all()
            assert (obs <= game.feature_layout.high).all()


def test_numbers_that_do_not_fit_into_a_byte_are_distinguished():
    game = variant(3, sets=20, turns_per_set=20, client_supply=None, majority=(1000, 600, 0))
    states = position(game, set=2, turn=3, rupees=(300, 20, 0), clients=(300, 200, 300))
    view = seen(game, states, seat=0)
    assert close(view["game_left"], [(17 * 20 + 17) / 400])
    assert close(view["set_left"], [17 / 20])
    assert close(view["rupees"], [2, 1, 0, 0, 0])
    assert view["clients"][:3] == view["empire"][:3] == [2, 2, 2]
    assert close(view["empire_rank"], [0.75, 0, 0.75, 0, 0])
    assert view["majority"] == [2, 0, 2, 0, 0]
    assert view["margin"] == [1, -1, 1, 0, 0]
