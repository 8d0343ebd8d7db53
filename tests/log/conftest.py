"""Property tests of this directory: few examples, no deadline on a shared machine."""

from hypothesis import settings

settings.register_profile("log", deadline=None, max_examples=60)
settings.load_profile("log")
