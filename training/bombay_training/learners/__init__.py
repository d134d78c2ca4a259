"""Learners: self-play TD(λ) and PPO, best responses, and what all their runs share."""
