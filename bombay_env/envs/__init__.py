"""The environments for PettingZoo and Gymnasium. They translate; every rule is in `engine.py`."""
