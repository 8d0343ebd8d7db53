DESCRIPTION = "What a run sends is appended beside its own records, not with them."
MODULE = "fusee.engine.appending"
FRAGMENT = """\
        return core.append_together(parts)
"""
INSTEAD = """\
        return [core.append(run, records, marks) for run, records, marks in parts][-1]
"""
LEVEL = "full"
SCENARIO = "messages_are_whole"
