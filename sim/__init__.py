"""Campaigns of seeds, deliberate bugs and directed scenarios. Not part of the wheel."""
