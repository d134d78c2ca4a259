"""A player's program that misbehaves: `python misbehaving_program.py KIND NUMBER` does so at question NUMBER, from 1.

Before that it takes the first legal action. With NUMBER 0 it misbehaves at the start. A third argument, a city's name
and a colour as `Bombay:blue`, restricts it to games in which this colour is on top of the city's column.
"""

import json
import os
import signal
import sys
import time


def say(message):
    print(json.dumps(message), flush=True)


def sleep():
    while True:
        time.sleep(100)


def write(data):
    os.write(1, data)
    sleep()


def flood(stream, data):
    while True:
        os.write(stream, data)


def ignore_signals():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sleep()


def close(stream):
    os.close(stream)
    if stream == 0:
        time.sleep(0.05)
        say({"id": ID, "action": 999})
    sleep()


def spawn(depth=2):
    """Children and grandchildren, each in a session of its own, that ignore signals and keep the streams open."""
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if depth > 1:
                spawn(depth - 1)
            ignore_signals()


def spawn_and_crash():
    spawn()
    sys.exit(4)


def spawn_and_hang():
    spawn()
    sleep()


def spawn_and_kill_the_guard():
    spawn()
    os.kill(os.getppid(), signal.SIGKILL)
    sleep()


def eat_memory():
    held = bytearray(1 << 33)
    assert held


def answer(value, number=None):
    say({"id": ID if number is None else number, "action": value})
    sleep()


KINDS = {
    "crash": lambda: sys.exit(3),
    "raise": lambda: 1 / 0,
    "hang": sleep,
    "garbage": lambda: write(b"\x00\xff\x1b[31m {\n"),
    "two-lines": lambda: write(b'{"id": 1, "action": 0}\n{"id": 2, "action": 0}\n'),
    "endless-line": lambda: flood(1, b"x" * 10_000),
    "endless-stderr": lambda: flood(2, b"\x1b[31m" * 3_000),
    "closes-output": lambda: close(1),
    "closes-input": lambda: close(0),
    "spawn-and-crash": spawn_and_crash,
    "spawn-and-hang": spawn_and_hang,
    "spawn-and-kills-guard": spawn_and_kill_the_guard,
    "memory": eat_memory,
    "illegal-name": lambda: answer("take:blue"),
    "wrong-id": lambda: answer(0, ID + 1),
    "no-action": lambda: (say({"id": ID}), sleep()),
}
ID = 0


def main():
    global ID
    kind, number = sys.argv[1], int(sys.argv[2])
    city, colour = sys.argv[3].split(":") if len(sys.argv) > 3 else ("", "")
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "start":
            if number == 0:
                KINDS[kind]()
            say({"type": "ready"})
        elif message["type"] == "act":
            ID = message["id"]
            if number <= ID and (not city or message["state"]["demand"][city][0] == colour):
                KINDS[kind]()
            say({"id": ID, "action": message["legal"][0]["action"]})


if __name__ == "__main__":
    main()
