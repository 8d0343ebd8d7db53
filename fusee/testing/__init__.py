"""A hostile, repeatable world for everything that Fusee writes, and the checkers that watch it."""
