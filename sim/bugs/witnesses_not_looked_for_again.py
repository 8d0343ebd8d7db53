DESCRIPTION = "The second look at an end in doubt reads its place again, and looks for no witness."
MODULE = "fusee.log.scan"
FRAGMENT = """\
            second = self._close(again)
"""
INSTEAD = """\
            second = first
"""
LEVEL = "byte"
SCENARIO = "doubts_are_looked_at_twice"
