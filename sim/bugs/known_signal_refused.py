DESCRIPTION = "A run that has ended refuses its own signals when they are sent again."
MODULE = "fusee.engine.messages"
FRAGMENT = """\
        if ended is None or past is None:
            raise
"""
INSTEAD = """\
        if ended is not None or past is None:
            raise
"""
LEVEL = "full"
SCENARIO = "known_signals_are_always_acknowledged"
