"""What the driver owes a replica, and the outcome of which it must report.

Handlers fill in a Ready. Nothing in it waits for anything else in it: a message that rests
on a promise is only put here once the promise is durable (G-1, G-2). So the driver sends
first and writes second, which ships a batch before the local flush (N-1).
"""

from __future__ import annotations

import msgspec

from fusee.log.batch import Batch
from fusee.log.superblock import BatchId, Unknown
from fusee.vr.messages import AnyMessage


class Save(msgspec.Struct, frozen=True):
    """Make this the superblock's promise; then `on_saved`. One is under way at a time."""

    view: int
    log_view: int
    vouch: BatchId
    unknown: Unknown | None


class Write(msgspec.Struct, frozen=True):
    """Append one batch to the log; then `on_written`. One is under way at a time (S-3)."""

    batch: Batch
    log_gen: int
    durable_op: int


class Stage(msgspec.Struct, frozen=True):
    """Lay decided batches beside the log, in a bracket that is not in force; then `on_staged`.

    They follow `after`; where that is `base` a bracket begins, and an older one is void. One is
    under way at a time.
    """

    base: BatchId
    after: BatchId
    batches: tuple[Batch, ...]
    head: BatchId
    """Identity of the last one."""


class Install(msgspec.Struct, frozen=True):
    """Replace the log above `base` in one bracket (I-1); then `on_installed`.

    The bracket holds what was staged up to `staged`, which is `base` where nothing was, and
    then `batches`.
    """

    view: int
    base: BatchId
    staged: BatchId
    batches: tuple[Batch, ...]
    start: BatchId
    head: BatchId


class Rewrite(msgspec.Struct, frozen=True):
    """Put the body of a damaged batch back; then `on_rewritten`."""

    batch: Batch
    log_gen: int


class ReadLog(msgspec.Struct, frozen=True):
    """Read what a member has asked for and memory no longer keeps; then `on_read`.

    All of it is decided. What cannot be read is left out: silence is no answer (H-3).
    """

    to: int
    after: BatchId | None
    """Batches behind this one, up to `until_op` or as many as fit a message."""
    until_op: int = 0
    wanted: tuple[BatchId, ...] = ()
    """These batches, by identity."""


class Ready(msgspec.Struct):
    """Duties. The driver does each once, in any order but messages before writes."""

    messages: list[tuple[int, AnyMessage]] = []
    """Slot, message. Those for one member arrive in order or not at all."""
    save: Save | None = None
    write: Write | None = None
    stage: Stage | None = None
    install: Install | None = None
    rewrites: list[Rewrite] = []
    reads: list[ReadLog] = []
    confirmed: list[int] = []
    """Tokens of reads that may be answered from the state as it is now."""
    persist_view: bool = False
    """Save view, log view and vouch in the superblock before anything else."""
    has_new_role: bool = False
    """The replica leads now, or follows, or neither."""
