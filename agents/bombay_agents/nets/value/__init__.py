"""The net that learns from the rules alone: what it reads, its weights, and the players that use it. Imports nothing scripted."""
