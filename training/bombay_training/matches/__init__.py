"""Matches between agents: each deal in all seatings, played by a pool of processes, and the statistics of the results."""
