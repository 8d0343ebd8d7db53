DESCRIPTION = "A write that ends takes those before it for written."
MODULE = "fusee.log.writer"
FRAGMENT = "                if write.local_seq == local_seq:"
INSTEAD = "                if write.local_seq <= local_seq:"
LEVEL = "byte"
SCENARIO = "writes_are_durable_in_order"
EQUIVALENT = (
    "The driver ships one write at a time, so there is none before it. The writer and "
    "the format allow two; the day a driver ships two, seeds will catch this. "
)
