"""Every visible fact of a position is read back from the data attributes of its drawing and compared with the state."""

import json
import random
from collections import Counter
from typing import Any
from xml.etree import ElementTree

import numpy as np

from bombay_env import Game
from bombay_env.render import svg
from bombay_env.render.view import last_action
from bombay_env.rules import COLOUR_NAMES
from bombay_env.state import state_from_dict, state_to_dict
from helpers.variants import random_game

NUMBERS = (*range(32), 199)  # in the last one a bale must be taken
HELD = (
    "rupees",
    "clients",
    "client_palace_tokens",
    "city_tokens",
    "city_palace_tokens",
    "palaces_left",
    "basket",
)


def told(root: ElementTree.Element, *names: str) -> list[dict[str, str]]:
    """The attributes of all elements that have all of these, without `data-`, in the order of drawing."""
    found = [
        {
            key.removeprefix("data-").replace("-", "_"): value
            for key, value in element.items()
            if key.startswith("data-")
        }
        for element in root.iter()
    ]
    return [attributes for attributes in found if set(names) <= set(attributes)]


def facts_of(root: ElementTree.Element) -> dict[str, Any]:
    """The facts in the form of `state_to_dict`, without the seed."""
    (course,) = told(root, "part", "current_player")
    names = ("current_player", "first_player", "set", "turn", "actions_left", "buys")
    facts: dict[str, Any] = {name: int(course[name]) for name in names}
    facts |= {name: json.loads(course[name]) for name in ("over", "take_pending")}
    facts["demand"] = {}
    for row in told(root, "site", "demand"):
        facts["demand"].setdefault(row["site"], []).append(row["demand"])
    posts = told(root, "site", "post")
    facts["posts"] = {post["site"]: post["post"] for post in posts}
    on_sale = {colour["colour"] for colour in told(root, "colour", "closed") if colour["closed"] == "false"}
    facts["open_posts"] = [post["site"] for post in posts if post["post"] in on_sale]
    if not facts["over"]:
        assert facts["open_posts"] == [post["site"] for post in posts if post["closed"] == "false"]
    facts["palace_tokens"] = {site["site"]: site["token"] for site in told(root, "site", "token")}
    facts["palaces"] = {site["site"]: int(site["owner"]) for site in told(root, "site", "owner")}
    facts["markets"] = [json.loads(market["bales"]) for market in told(root, "market", "bales")]
    facts["bag"] = [int(colour["count"]) for colour in told(root, "bag", "count")]
    facts["city_piles"] = {site["site"]: int(site["pile"]) for site in told(root, "site", "pile")}
    supply = told(root, "client_supply")
    facts["client_supply"] = int(supply[0]["client_supply"]) if supply else None
    elephants = {int(elephant["elephant"]): elephant["at"] for elephant in told(root, "elephant", "at")}
    cards = told(root, "seat", "rupees")
    facts["position"] = [elephants[seat] for seat in range(len(cards))]
    assert [int(card["seat"]) for card in cards] == sorted(elephants)
    return facts | {name: [json.loads(card[name]) for card in cards] for name in HELD}


def random_state(number: int) -> tuple[Game, np.ndarray, Any]:
    """A random game of 2 to 5 players after some decisions, and its last action."""
    rng = random.Random(number)
    game = random_game(rng, 2 + number % 4)
    states = game.new_states([number])
    game.rollout(states, [number], max_decisions=rng.randrange(150))
    last = None
    for _ in range(rng.randrange(2)):
        actions = game.sample_actions(states, [number + 1])
        if actions[0] >= 0:
            before = states.copy()
            game.step(states, actions)
            last = last_action(game, before, int(actions[0]))
    return game, states, last


def test_every_visible_fact_is_read_back_from_the_drawing() -> None:
    kinds: Counter[str] = Counter()
    for number in NUMBERS:
        game, states, last = random_state(number)
        root = ElementTree.fromstring(svg.draw(game, states, last=last))
        facts = facts_of(root)
        expected = state_to_dict(states[0], game.rules, game.board)
        assert facts | {"seed": expected["seed"]} == expected
        again = state_from_dict(facts | {"seed": expected["seed"]}, game.rules, game.board)
        assert again.tobytes() == states.tobytes()
        check_what_follows(root, game, states, last)
        kinds.update(fact for fact in ("over", "palaces", "take_pending") if facts[fact])
        kinds.update(["last action"] if last else [])
    assert len(kinds) == 4, kinds


def check_what_follows(root: ElementTree.Element, game: Game, states: np.ndarray, last: Any) -> None:
    """What is told besides the state: prices, sales, legal actions, the last action and the result."""
    rules = game.rules
    markets = told(root, "market", "bales")
    assert [int(market["rupees"]) for market in markets] == list(rules.market_rupees)
    assert [int(market["actions"]) for market in markets] == list(rules.market_actions)
    for place, row in enumerate(told(root, "site", "demand")):
        colour = COLOUR_NAMES.index(row["demand"])
        assert int(row["rupees"]) == rules.sale_rupees[place % 3] + rules.colour_rupees[colour]
        assert int(row["clients"]) == rules.sale_clients[place % 3] + rules.colour_clients[colour]
    legal = {game.action_names[action] for action in np.flatnonzero(game.legal_actions(states)[0])}
    assert {choice["action"] for choice in told(root, "action")} == legal
    shown = told(root, "last", "last_seat")
    expected = [] if last is None else [{"last": last.action, "last_seat": str(last.seat), "from": last.origin}]
    assert shown == expected
    if game.is_terminal(states)[0]:
        result = game.results(states)[0]
        (course,) = told(root, "winners")
        assert json.loads(course["winners"]) == np.flatnonzero(result.winners).tolist()
        assert [int(card["final"]) for card in told(root, "seat", "final")] == result.final.tolist()


def test_behind_a_screen_nothing_hidden_is_told() -> None:
    for number in range(10):
        game, states, _ = random_state(number)
        if game.is_terminal(states)[0]:
            continue
        drawing = svg.draw(game, states, viewer=1)
        richer = states.copy()
        others = [seat for seat in range(game.num_players) if seat != 1]
        richer["rupees"][0, others] += 5
        assert svg.draw(game, richer, viewer=1) == drawing, "not even by what is legal"
        root = ElementTree.fromstring(drawing)
        facts = state_to_dict(states[0], game.rules, game.board)
        for card in told(root, "seat", "rupees"):
            seat = int(card["seat"])
            for name in HELD:
                hidden = seat != 1 and name not in ("palaces_left", "basket")
                assert json.loads(card[name]) == (None if hidden else facts[name][seat])
        assert bool(told(root, "action")) == (facts["current_player"] == 1)
