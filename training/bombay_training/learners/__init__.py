"""Learners: self-play TD and PPO, best responses, expert iteration, and what all their runs share."""
