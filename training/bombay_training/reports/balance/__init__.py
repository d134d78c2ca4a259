"""Is the game fair to every seat: the study, its statistics and its page."""
