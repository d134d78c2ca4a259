"""Self-play PPO with advantages per seat, on Stable-Baselines3. Needs the extra `ppo`."""

from bombay_training.learners.ppo.run import PPORun
from bombay_training.learners.ppo.settings import PPOSettings

__all__ = ["PPORun", "PPOSettings"]
