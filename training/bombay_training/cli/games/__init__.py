"""Commands that play and replay games."""
