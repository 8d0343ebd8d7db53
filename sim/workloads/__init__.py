"""What the simulated applications do, and what the clients outside do to them."""
