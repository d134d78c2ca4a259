"""Random damage to JSON values, to test that readers reject damaged values with the right error."""

import copy

from hypothesis import strategies as st

NUMBERS = [2**7, 2**15, 2**31 - 1, 2**31, 2**63, 2**64, -(2**31), 10**400, float("inf"), float("nan")]
LISTS = [[], {}, [[]], [0] * 5, [0] * 24, [[0] * 4] * 3, {"E1": "blue"}, [["Bombay"]] * 2]
NESTED = []
for _ in range(100):
    NESTED = [NESTED]


def junk(texts):
    """A value to put in the place of another."""
    plain = st.one_of(st.none(), st.booleans(), st.integers(-3, 9), st.sampled_from(NUMBERS), st.floats())
    return st.one_of(plain, st.sampled_from(texts), st.text(max_size=3), st.sampled_from([*LISTS, NESTED]))


def paths(value, path=()):
    """The paths of all entries of nested objects and lists, as tuples of keys and indices."""
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from paths(entry, (*path, key))


def at(value, path):
    """The entry at a path."""
    for key in path:
        value = value[key]
    return value


def mutated(data, value, texts, most=3):
    """A copy of `value` with one to `most` entries changed, removed, duplicated, swapped, or replaced by copies of others.

    Args:
        data: Hypothesis's `data()`, the source of random choices.
        value: a JSON object or list, unchanged.
        texts: strings that have a meaning in `value`; they are used as keys and values.
    """
    value = copy.deepcopy(value)
    for _ in range(data.draw(st.integers(1, most))):
        places = list(paths(value))[1:]
        if not places:
            break
        *way, last = data.draw(st.sampled_from(places))
        parent = at(value, way)
        kind = data.draw(st.sampled_from(["junk", "nudge", "drop", "double", "move", "exchange"]))
        if kind == "drop":
            del parent[last]
        elif kind == "double" and isinstance(parent, list):
            parent.insert(last, copy.deepcopy(parent[last]))
        elif kind == "double":
            parent[data.draw(st.sampled_from(texts))] = copy.deepcopy(parent[last])
        elif kind == "nudge" and type(parent[last]) in (int, float):
            parent[last] += data.draw(st.sampled_from([-1, 1, 100]))
        elif kind == "move":
            parent[last] = copy.deepcopy(at(value, data.draw(st.sampled_from(places))))
        elif kind == "exchange":
            other = data.draw(st.sampled_from(list(parent) if isinstance(parent, dict) else range(len(parent))))
            parent[last], parent[other] = parent[other], parent[last]
        else:
            parent[last] = copy.deepcopy(data.draw(junk(texts)))
    return value
