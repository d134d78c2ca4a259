"""Engines: where chunks of games are played."""
