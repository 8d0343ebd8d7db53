"""Every bound of the system, in one place, with the relations between them asserted.

A queue, frame, payload or retry without a bound here is a latency bug with a date.
"""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB

# The log
UNIT_SIZE = 512
BLOCK_SIZE = 4 * KIB
SEGMENT_SIZE_FIRST = 4 * MIB
SEGMENT_SIZE = 64 * MIB
STORAGE_RESERVE_BYTES = 2 * SEGMENT_SIZE + 64 * MIB
"""With less free space than this new work is refused, so that runs in progress can finish."""
BATCH_CLOSE_BYTES = 1 * MIB
"""A batch is closed before it would grow past this; one larger group is alone in its batch."""
GROUP_BYTES_MAX = 6 * MIB
"""Largest atomic group: one payload of the largest size, and what the engine adds to it."""
FRAME_BYTES_MAX = 8 * MIB
SHARD_COUNT = 64
WRITES_IN_FLIGHT_MAX = 2

# The undecided window
WINDOW_BATCHES_MAX = 64
WINDOW_BYTES_MAX = 16 * MIB
STOP_STEPS_BYTES = 32 * MIB
WEIGHED_BYTES_MIN = 16 * KIB
"""From this size on a group or a result is weighed at once; smaller ones when they are written."""
WAITING_CALLS_MAX = 10_000

# What users hand in
ID_BYTES_MAX = 512
NAME_BYTES_MAX = 256
PAYLOAD_BYTES_MAX = 4 * MIB
PAYLOAD_BYTES_WARN = 256 * KIB
UNREAD_SIGNALS_MAX = 10_000
OPERATIONS_MAX = 100_000
ERROR_TEXT_BYTES_MAX = 64 * KIB
TRACEBACK_BYTES_MAX = 32 * KIB
ERROR_CHAIN_MAX = 8

# The runtime
TURNS_PER_ITERATION_MAX = 64
ASYNC_STEPS_MAX = 1_000
SYNC_THREADS_MAX = 32
SYNC_STEPS_WAITING_MAX = 10_000

BLOCKED_AFTER_S = 2.0
"""A turn that takes longer is said to block the application's loop."""
BLOCKED_AFTER_S_MIN = 0.01
"""Looking at turns more often than this would itself cost turns."""
BLOCKED_TURNS_MAX = 5
"""So many such turns hold their run."""

# The admin socket
WIRE_FRAME_BYTES_MAX = 8 * MIB
WIRE_PART_BYTES_MAX = 1 * MIB
"""Answers are cut into parts of this size, so that no frame keeps the loop for long."""
ADMIN_ANSWER_BYTES_MAX = 512 * MIB
ADMIN_CONNECTIONS_MAX = 16

# Between replicas
MEMBERS_MAX = 5
HELLO_BYTES_MAX = 4 * KIB
"""Nobody who has not been let in makes a replica keep more than this."""
STRANGERS_MAX = 64
"""So many connections may be without a hello at a time; others are hung up on at once."""
PEER_QUEUE_BYTES_MAX = 16 * MIB
"""What waits for a peer that takes no bytes. One message always finds room."""

assert BLOCK_SIZE % UNIT_SIZE == 0
assert SEGMENT_SIZE_FIRST % BLOCK_SIZE == 0
assert SEGMENT_SIZE % BLOCK_SIZE == 0
assert PAYLOAD_BYTES_MAX < GROUP_BYTES_MAX < FRAME_BYTES_MAX < SEGMENT_SIZE
assert BATCH_CLOSE_BYTES <= WINDOW_BYTES_MAX < STOP_STEPS_BYTES
assert GROUP_BYTES_MAX <= WINDOW_BYTES_MAX
assert ASYNC_STEPS_MAX * WEIGHED_BYTES_MIN <= WINDOW_BYTES_MAX
assert WIRE_PART_BYTES_MAX < WIRE_FRAME_BYTES_MAX < ADMIN_ANSWER_BYTES_MAX
assert PAYLOAD_BYTES_MAX + 16 * KIB < WIRE_FRAME_BYTES_MAX
