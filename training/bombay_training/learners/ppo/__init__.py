"""Self-play PPO with advantages per seat, on Stable-Baselines3. Needs the extra `ppo`."""

from bombay_training.learners.ppo.run import PPOSettings, Run, go_on, open_run, train

__all__ = ["PPOSettings", "Run", "go_on", "open_run", "train"]
