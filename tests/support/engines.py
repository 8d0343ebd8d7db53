"""Engines on RAM devices, opened in one line."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from fusee.embed.assembly import assemble_on
from fusee.embed.engine import Engine
from fusee.embed.programs import Registry
from fusee.io.directory import Directory
from fusee.io.file_log import FileLog
from fusee.io.log_files import NewGroup
from fusee.log.segment import SegmentSizes
from fusee.sdk.workflow import Workflow
from tests.support.crash_device import CrashDevice
from tests.support.ledger import UncheckedService
from tests.support.logs import GROUP, INCARNATION
from tests.support.submitters import InlineSubmitter
from tests.support.world import SMALL, Scenario


def formatted(device: CrashDevice, sizes: SegmentSizes = SMALL) -> CrashDevice:
    """Format a device, so that an engine opened on it begins with a small log."""
    FileLog.open(
        device,
        submitter=InlineSubmitter(device),
        on_batch=lambda batch: None,
        now_us=1,
        format_new=NewGroup(group_id=GROUP, incarnation=INCARNATION),
        sizes=sizes,
    )
    return device


def engine_on(device: CrashDevice, scenario: Scenario, **options: Any) -> Engine:
    """Return an engine of a scenario on a device; steps call a service that nobody checks."""
    return engine_of(device, scenario.workflows(UncheckedService()), **options)


def engine_of(
    device: CrashDevice,
    workflows: Iterable[Workflow[Any, Any]],
    *,
    directory: Directory | None = None,
    sizes: SegmentSizes = SMALL,
    drain_s: float = 5.0,
) -> Engine:
    """Return an engine of some workflows on a device."""
    assemble = functools.partial(assemble_on, device, directory, sizes=sizes)
    return Engine(assemble, Registry(workflows), drain_s=drain_s)
