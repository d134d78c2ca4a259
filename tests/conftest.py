"""Ctrl-C reaches the programs that tests start, also where the shell ignores it (`nohup make test &`)."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
