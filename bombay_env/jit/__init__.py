"""How kernels are compiled, and where compiled code is kept between processes. Knows nothing of the game."""
