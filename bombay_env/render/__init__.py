"""Drawings of a state: as text, as SVG."""
