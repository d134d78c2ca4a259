"""Helpers that tests share: positions, random variants, damaged data, environments, records, killed runs, a toy game."""
