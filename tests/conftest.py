"""What all tests share."""

from __future__ import annotations

import gc


def pytest_collection_finish() -> None:
    """Keep the collector off the modules of all tests: many tests collect at every event."""
    gc.collect()
    gc.freeze()
