"""The environments for PettingZoo and Gymnasium. They contain no rules of the game; these are in `engine.py`."""
