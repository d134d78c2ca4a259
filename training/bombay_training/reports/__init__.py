"""Reports: pages of figures, made of matches. They know no engine."""
