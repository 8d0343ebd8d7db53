DESCRIPTION = "The ledger does not mind a step whose scheduled record is not durable."
MODULE = "fusee.testing.checkers.ledger"
FRAGMENT = """\
        if scheduled is None:
            self.blame(f"step {key} ran before its scheduled record was durable")
        elif json.loads(scheduled.input or b"{}") != given:
"""
INSTEAD = """\
        if scheduled is not None and json.loads(scheduled.input or b"{}") != given:
"""
LEVEL = "full"
SCENARIO = "outputs_wait_for_the_disk"
NOTICED = "canary:no_gate"
