DESCRIPTION = "The end of a seal is taken for the end of a batch."
MODULE = "fusee.node.local_node"
FRAGMENT = """\
        self.storage.submit_seal(durable_op, self._sealed)
"""
INSTEAD = """\
        self._writing_op = OpNumber(durable_op + 1)
        self.storage.submit_seal(durable_op, self._written)
"""
LEVEL = "full"
SCENARIO = "idle_logs_are_sealed"
