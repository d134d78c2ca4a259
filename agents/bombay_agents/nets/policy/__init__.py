"""The policy net that PPO learned from observations: its file, its forward pass, and its player."""
