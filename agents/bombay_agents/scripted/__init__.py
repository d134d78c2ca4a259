"""Players that decide by hand-written values, and the lookahead that is built on these values."""
