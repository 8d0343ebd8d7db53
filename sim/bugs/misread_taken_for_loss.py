DESCRIPTION = "A durable batch that is not found at the first look is called lost."
MODULE = "fusee.log.index"
FRAGMENT = "            frame = _look_again(read, walk)"
INSTEAD = """\
            place = f"{walk.window.file}, byte {walk.offset}, op {walk.chain.op + 1}"
            raise AcknowledgedDataLost(f"{place}: a durable batch cannot be read back", [place])"""
LEVEL = "byte"
SCENARIO = "reads_are_tried_again"
