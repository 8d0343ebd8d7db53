"""A module that cannot be imported."""

x = 1 / 0
