"""Commands for the project itself: speed and documentation."""
