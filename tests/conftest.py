"""What all tests share."""

from __future__ import annotations

import gc

from hypothesis import settings

settings.register_profile("here", deadline=None)
"""No deadline: on a shared machine a test that is slow once is no failure."""
settings.load_profile("here")


def pytest_collection_finish() -> None:
    """Keep the collector off the modules of all tests: many tests collect at every event."""
    gc.collect()
    gc.freeze()
