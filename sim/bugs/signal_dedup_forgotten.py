DESCRIPTION = "The ids of signals that were read are not known any more after a recovery."
MODULE = "fusee.engine.run"
FRAGMENT = """\
        self.ids[record.signal_id] = record.payload
"""
INSTEAD = """\
        if unread:
            self.ids[record.signal_id] = record.payload
"""
LEVEL = "full"
SCENARIO = "signals_are_taken_once"
