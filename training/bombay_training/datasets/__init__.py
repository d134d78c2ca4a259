"""Datasets for offline learning, made from records of games: as a Parquet file, or as a Minari dataset."""
