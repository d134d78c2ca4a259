"""Players that search: rollouts, flat Monte Carlo, a max^n tree over whole turns, and exact endgames."""
