DESCRIPTION = "Results that came in one batch are handed over in one turn."
MODULE = "fusee.engine.turns"
FRAGMENT = """\
    program.deliver(arrival)
    if machine.mismatch is None and program.ending is None:
"""
INSTEAD = """\
    for other in [item for item in run.inbox if isinstance(item, Arrival) and not item.recorded]:
        if other.position in program.pending:
            run.inbox.remove(other)
            program.pending.pop(other.position).arrive(other)
            machine.out.append(
                Completed(other.position, other.outcome, now_us, other.payload, True, 0, other.attempt)
            )
    program.deliver(arrival)
    if machine.mismatch is None and program.ending is None:
"""
LEVEL = "full"
SCENARIO = "one_outcome_a_turn"
