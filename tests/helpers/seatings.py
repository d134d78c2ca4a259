"""Seatings of simulated games."""

import numpy as np


def rotations(num_seats):
    """The rotations of a line-up, (n, n) int64: its index for each seat."""
    seats = np.arange(num_seats)
    return (seats - seats[:, None]) % num_seats
