"""Trained nets as players: their files, the features they read, and the agents that play with them. No PyTorch."""
