"""`python -m bombay_training.cli` is the command `bombay`."""

from bombay_training.cli.main import main

main()
