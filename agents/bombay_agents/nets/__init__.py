"""Trained nets as players: their files, the features that they read, and the agents that play by them. No PyTorch."""
