"""Players that decide by hand-written values, and what else is built on these values: lookahead and reward shaping."""
