DESCRIPTION = (
    "A replay hands outcomes over by position, not in the order in which the code saw them."
)
MODULE = "fusee.journal.machine"
FRAGMENT = """\
        record = self.history.deliveries.popleft()
"""
INSTEAD = """\
        record = min(self.history.deliveries, key=lambda completed: completed.position)
        self.history.deliveries.remove(record)
"""
LEVEL = "full"
SCENARIO = "outcomes_keep_their_order"
