"""What is said on stderr while kernels are compiled."""

COMPILING = ("bombay_env: compiling kernels for this machine, which takes up to a minute, ", "bombay: compiling, ")
