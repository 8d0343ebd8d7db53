"""Campaigns of the deterministic simulator. See sim/README.md."""
