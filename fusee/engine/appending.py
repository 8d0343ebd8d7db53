"""Appending what a turn did: its records, and what it sends to other runs, as groups the log takes.

Usually one group. A turn whose records are over the bound of a group (two calls with the
largest arguments, say) is appended as several, in order: a crash that keeps only the first
ones leaves a turn that goes on when it is replayed, and nothing that depends on the turn has
left before the last of them is committed (rule T-2).

A message to another run is atomic: the receiver's record shares the ticket of the record by
which the sender knows that it was sent, so neither survives without the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.base.limits import GROUP_BYTES_MAX, ID_BYTES_MAX
from fusee.engine import messages
from fusee.record.group import encode_records
from fusee.record.kinds import Completed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fusee.base.ids import Ticket
    from fusee.engine.core import Core
    from fusee.engine.run import Run
    from fusee.record.kinds import AnyRecord

HEAD_BYTES_MAX = ID_BYTES_MAX + 64
CHUNK_BYTES_MAX = GROUP_BYTES_MAX - 2 * HEAD_BYTES_MAX


Part = tuple["Run", "list[AnyRecord]", int]


def append_turn(core: Core, run: Run, records: list[AnyRecord], marks: int) -> Ticket:
    """Append a turn, together with what it sends to other runs."""
    sent = {position: (receiver, record) for position, receiver, record in run.outbox}
    run.outbox.clear()
    parts: list[Part] = [(run, [], 0)]
    size = 0
    for record in records:
        more: list[tuple[Run, AnyRecord]] = [(run, record)]
        if sent and type(record) is Completed and record.position in sent:
            more.append(sent[record.position])
        more_size = sum(len(encode_records([item])) + HEAD_BYTES_MAX for _, item in more)
        if size + more_size > CHUNK_BYTES_MAX and size:
            _append(core, parts)
            parts = [(run, [], 0)]
            size = 0
        size += more_size
        for receiver, item in more:
            if receiver is run:
                parts[0][1].append(item)
            else:
                parts.append((receiver, [item], 0))
    parts[0] = (run, parts[0][1], marks)
    ticket = _append(core, parts)
    for receiver, message in sent.values():
        messages.offer(core, receiver, message.name)
    return ticket


def _append(core: Core, parts: Sequence[Part]) -> Ticket:
    if len(parts) > 1:
        return core.append_together(parts)
    run, records, marks = parts[0]
    return core.append(run, records, marks)
