"""Observations: their layout, lookup tables, and the kernels that write them."""
