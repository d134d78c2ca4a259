"""Play, watch and draw in the browser and in the terminal: `bombay play`, `bombay watch` and `bombay board draw`."""
