DESCRIPTION = "The timers of a run that has ended stay armed."
MODULE = "fusee.engine.core"
FRAGMENT = """\
        for position in list(run.timers):
            self.disarm_timer(run, position)
"""
INSTEAD = """\
        run.timers = {}
"""
LEVEL = "full"
SCENARIO = "timers_end_with_their_run"
