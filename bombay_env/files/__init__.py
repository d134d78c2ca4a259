"""Files that programs read and write: strict JSON with limits, and writing that leaves no half-written file."""
