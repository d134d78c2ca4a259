"""Commands that compare, check and study agents."""
