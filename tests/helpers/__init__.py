"""Helpers that tests share: positions, random variants, damaged data, environments, records."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
