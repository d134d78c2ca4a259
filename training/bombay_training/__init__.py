"""Learning, the arena and the `bombay` command."""
