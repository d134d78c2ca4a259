"""Self-play PPO with advantages per seat, on Stable-Baselines3. Needs the extra `ppo`, except the settings."""
