DESCRIPTION = "Frames say that nothing was durable before them."
MODULE = "fusee.io.file_log"
FRAGMENT = """\
            durable_op=durable_op,
            op=op,
"""
INSTEAD = """\
            durable_op=0,
            op=op,
"""
LEVEL = "byte"
SCENARIO = "witnesses_are_heard"
