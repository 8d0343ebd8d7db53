"""Models of what must hold, and what runs them: `python -m tla.check`."""
