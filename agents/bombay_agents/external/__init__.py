"""Players that are programs of their own, in any language: they speak JSON lines over standard input and output.

`guard.py` runs a program within limits and ends it with all that it started, `process.py` exchanges lines with it, and `agent.py`
makes an agent of it.
"""
