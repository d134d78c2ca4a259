"""Generated documentation: pages and tables made from the program and from saved results; `bombay docs`."""
