"""What a seat sees: the layout of an observation, lookup tables, and the kernels that write it."""
