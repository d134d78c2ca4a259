"""Random damage to the bytes and to the JSON of files, to test that loaders refuse what they cannot read."""

import copy
import json

from helpers.mutations import at, paths

MARK = "\x01{}\x01"  # stands for raw text in a string until the JSON is written
# Raw text in the place of a JSON value.
JUNK = [
    "null", "true", "false", "[]", "{}", "[[]]", "0", "-1", "1.5", "1e-300", "NaN", "Infinity", "-Infinity", "1e999", "1E400",
    "127", "128", "-128", "-129", "32768", "2147483648", "9223372036854775808", "18446744073709551616", "9" * 29, "9" * 400,
    "9" * 10_000, "0." + "3" * 400, '""', '"x"', '"0"', '"\\u0000"', '"\\ud800"', '"a\\nb"', '"' + "x" * 300_000 + '"',
    '"' + "\\u263a" * 2_000 + '"', "[" * 15 + "]" * 15, "[" * 900 + "]" * 900, "[" * 100_000, '{"a":' * 900 + "0" + "}" * 900,
    '{"a": 1, "a": 2}', "[" + "0," * 20_000 + "0]", "[null, null, null]", '{"": {}}', "nonsense", "", '"',
]  # fmt: skip
BYTES = [b"", b"\0", b"\xff", b"\n", b'"', b"{", b"[[", b",", b"=", b"9" * 400, b"a." * 999, b"\xf0\x9f\x90\x98"]


def damaged_bytes(content, rng):
    """Bytes of which some were flipped, deleted, doubled, replaced or cut off."""
    content = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        place = rng.randrange(len(content) + 1)
        end = min(len(content), place + rng.choice((1, 1, 4, 16, 100, 1000)))
        kind = rng.choice(("flip", "flip", "delete", "double", "replace", "insert", "cut", "move"))
        if kind == "flip" and place < len(content):
            content[place] ^= 1 << rng.randrange(8)
        elif kind == "delete":
            del content[place:end]
        elif kind == "double":
            content[place:place] = content[place:end] * rng.choice((1, 2, 50))
        elif kind == "replace":
            content[place:end] = rng.choice(BYTES)
        elif kind == "insert":
            content[place:place] = rng.choice(BYTES)
        elif kind == "cut":
            del content[place:]
        elif kind == "move":
            part = content[place:end]
            del content[place:end]
            other = rng.randrange(len(content) + 1)
            content[other:other] = part
    return bytes(content)


def damaged_json(value, rng):
    """A JSON text of `value` in which some entries are replaced by junk, removed, doubled, renamed or exchanged."""
    value, raw = copy.deepcopy(value), []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = list(paths(value))
        *way, last = rng.choice(places[1:] or places) or ("",)
        parent = at(value, way)
        if not isinstance(parent, (dict, list)) or not len(parent):
            continue
        kind = rng.choice(("junk", "junk", "junk", "junk", "drop", "double", "rename", "exchange", "nudge"))
        if kind == "drop":
            del parent[last]
        elif kind == "double" and isinstance(parent, list):
            parent[last:last] = [parent[last]] * rng.choice((1, 3, 100))
        elif kind == "double":
            parent[MARK.format(len(raw))] = parent[last]  # the same key again
            raw.append(json.dumps(last))
        elif kind == "rename" and isinstance(parent, dict):
            parent[MARK.format(len(raw))] = parent.pop(last)
            raw.append(rng.choice([json.dumps(last + "s"), '""', '"x"', '"\\n"', '"' + "x" * 300_000 + '"']))
        elif kind == "exchange":
            other = rng.choice(list(parent) if isinstance(parent, dict) else range(len(parent)))
            parent[last], parent[other] = parent[other], parent[last]
        elif kind == "nudge" and type(parent[last]) in (int, float):
            parent[last] += rng.choice((-1, 1, 100, 1e15, 10**18))
        else:
            parent[last] = MARK.format(len(raw))
            raw.append(rng.choice(JUNK))
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    for number, junk in enumerate(raw):
        text = text.replace(json.dumps(MARK.format(number)), junk)
    return text
