"""The web server of `bombay play`, `bombay watch` and `bombay board draw`, and its page."""
