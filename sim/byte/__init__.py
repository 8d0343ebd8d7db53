"""The byte level: the real log on a simulated disk, with no engine above it."""
