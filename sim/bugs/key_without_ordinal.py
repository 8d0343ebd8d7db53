DESCRIPTION = "The idempotency key of a step leaves out which run of the ID it is."
MODULE = "fusee.io.attempt"
FRAGMENT = """\
        return f"{run.workflow_id}/{run.ordinal}/{self.op.position}"
"""
INSTEAD = """\
        return f"{run.workflow_id}/1/{self.op.position}"
"""
LEVEL = "full"
SCENARIO = "keys_are_never_used_again"
