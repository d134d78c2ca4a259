"""Players that search: flat Monte Carlo, a max^n tree over whole turns, and an exact last round."""
