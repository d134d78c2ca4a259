"""Matches between agents, played by a pool of processes, and the statistics of their results."""
