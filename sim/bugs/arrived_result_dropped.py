DESCRIPTION = "Closing forgets results that have arrived and wait for a turn."
MODULE = "fusee.embed.life"
FRAGMENT = """\
        for run in self.core.table.open_runs():
            keep_arrived(self.core, run)
"""
INSTEAD = ""
LEVEL = "full"
SCENARIO = "results_that_arrive_at_the_end_are_kept"
