DESCRIPTION = "Which request began an older run of an ID is kept in memory only."
MODULE = "fusee.engine.table"
FRAGMENT = """\
            requests = self._requests.setdefault(workflow_id, {})
            requests[before.facts().request_id] = before.ordinal
"""
INSTEAD = """\
            if started is not None:
                requests = self._requests.setdefault(workflow_id, {})
                requests[before.facts().request_id] = before.ordinal
"""
LEVEL = "full"
SCENARIO = "requests_are_remembered"
