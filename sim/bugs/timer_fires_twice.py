DESCRIPTION = "A wait whose timer has fired is given its signal too, if both came in one iteration."
MODULE = "fusee.engine.turns"
FRAGMENT = """\
    if position not in program.pending:
        return  # Cancelled by the code while it was on its way.
"""
INSTEAD = ""
LEVEL = "full"
SCENARIO = "one_wait_has_one_outcome"
