"""Numbers that must not be mixed up, each a type of its own.

The words are those of the glossary in docs/internals/words.md.
"""

from __future__ import annotations

from typing import NewType

OpNumber = NewType("OpNumber", int)
"""Number of a batch in the log, dense from 1, across views and epochs; 0 is "before the first"."""

View = NewType("View", int)
"""Numbered reign of one primary over the group; never reset, never reused."""

Epoch = NewType("Epoch", int)
"""Number of a configuration of the group, one more for every committed change of members."""

Ticket = NewType("Ticket", int)
"""Number of an atomic group of records, dense from 1 within a reign; 0 depends on nothing."""

Reign = NewType("Reign", int)
"""The time this process leads one view; equal to that view's number."""

Ordinal = NewType("Ordinal", int)
"""Number of a run among all runs of one workflow ID, from 1, never reused."""

ShardId = NewType("ShardId", int)
"""Number of a shard, 0 up to the shard count kept in the superblock."""

BatchHash = NewType("BatchHash", bytes)
"""blake2b-128 of a batch; with its op number the identity of a batch everywhere."""
