"""What was asked for on pytest's command line. Set by the plugin, read by `across_seeds`."""

from __future__ import annotations

seed: int | None = None
"""Only this seed."""

seeds: int | None = None
"""So many seeds, whatever the test says."""
