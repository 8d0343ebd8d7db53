DESCRIPTION = "The result of a step is recorded with the turn after the one that used it."
MODULE = "fusee.engine.turns"
FRAGMENT = """\
        machine.out.append(
            Completed(position, outcome, now_us, payload, True, arrival.number, arrival.attempt)
        )
    if run.timers:
        core.disarm_timer(run, position)
    program.deliver(arrival)
    if machine.mismatch is None and program.ending is None:
        _record_turn(core, run, program)
"""
INSTEAD = """\
        late = Completed(position, outcome, now_us, payload, True, arrival.number, arrival.attempt)
    if run.timers:
        core.disarm_timer(run, position)
    program.deliver(arrival)
    if machine.mismatch is None and program.ending is None:
        _record_turn(core, run, program)
        if not arrival.recorded:
            machine.out.append(late)
    elif not arrival.recorded:
        machine.out.append(late)
    if program.ending is None and machine.mismatch is None:
        pass
"""
LEVEL = "full"
SCENARIO = "results_are_recorded_before_they_are_used"
