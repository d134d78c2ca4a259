"""One file for each trainer that people bring from elsewhere."""
