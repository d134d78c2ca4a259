"""The `bombay` command: one module a command."""
