"""Commands that train agents and show how training went."""
