DESCRIPTION = (
    "A damaged seal is taken for torn: it carries no batch, and what follows is forgotten."
)
MODULE = "fusee.log.damage"
FRAGMENT = """\
        return Finding(5, "a damaged seal, and nothing proves that no batch followed it")
"""
INSTEAD = """\
        return Finding(2, "a damaged seal, which carries no batch")
"""
LEVEL = "byte"
SCENARIO = "batches_behind_damaged_seals_are_missed"
