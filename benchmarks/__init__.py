"""Speed: of every interface, next to the limit of the machine and next to other environments; `python -m benchmarks`."""
