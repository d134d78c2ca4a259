"""How fast everything is, beside what the machine can do and beside other environments."""
