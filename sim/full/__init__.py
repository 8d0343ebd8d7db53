"""The parts of the full level: its weather, what its steps call, and who watches."""
