"""Files that programs read and write: what data from elsewhere must look like, and writing that leaves no half-written file."""
