"""CPU of the path to the disk, without the disk: a chain on a device whose writes do nothing.

    PYTHONPATH=. python bench/micro/disk_path.py DIR             us of CPU a step, best of rounds
    PYTHONPATH=. python bench/micro/disk_path.py DIR --profile   where it goes, by sampled line

A step here turns the loop once, builds a batch and a frame and submits it, as on a real
disk; against `:memory:` the difference is what the path to the disk costs.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import tempfile
from collections import Counter
from pathlib import Path
from time import thread_time
from types import CodeType, FrameType

from bench.chain import chain, stamps
from fusee import Engine
from fusee.base.clock import Clock
from fusee.embed.assembly import Assembly, Wake, assemble_on
from fusee.embed.programs import Registry
from fusee.io.calibration import calibrate
from fusee.io.directory import Directory
from fusee.io.file_device import FileDevice

STEPS = 5000
ROUNDS = 7
ROUNDS_PROFILED = 60
"""The kernel samples at its tick, 4 ms on many, so it takes a while."""
SWEEP_BYTES = 2 << 20
"""More than a core's own caches: what another process leaves of them while we wait for a flush."""
SAMPLE_S = 0.0005


class NoWrite(FileDevice):
    """Takes frames and forgets them, once it is told to."""

    is_forgetful = False
    is_sweeping = False
    swept_s = 0.0
    _sweep = (bytearray(SWEEP_BYTES), bytearray(SWEEP_BYTES))

    def write(self, file: str, offset: int, data: bytes | memoryview) -> None:
        if not self.is_forgetful:
            super().write(file, offset, data)
        elif self.is_sweeping:
            begun = thread_time()
            self._sweep[0][:] = self._sweep[1]
            self.swept_s += thread_time() - begun


class Sampler:
    """Counts the lines that run, by CPU time of the process; a call into C counts for its line."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[CodeType, int]] = Counter()

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if frame is not None:
            self.seen[frame.f_code, frame.f_lineno] += 1

    def start(self) -> None:
        signal.signal(signal.SIGPROF, self)
        signal.setitimer(signal.ITIMER_PROF, SAMPLE_S, SAMPLE_S)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def show(self, us_a_step: float) -> None:
        functions: Counter[str] = Counter()
        lines: Counter[str] = Counter()
        for (code, line), hits in self.seen.items():
            place = "/".join(Path(code.co_filename).parts[-3:])
            functions[f"{place} {code.co_qualname}"] += hits
            lines[f"{place}:{line} {code.co_qualname}"] += hits
        total = self.seen.total()
        for title, counted in (("functions, self time", functions), ("lines", lines)):
            print(f"{title} ({total} samples)")
            for name, hits in counted.most_common(35):
                print(f"  {hits / total * us_a_step:6.2f} us  {hits / total:5.1%}  {name}")


async def cpu_us_a_step(engine: Engine, name: str) -> float:
    stamps.clear()
    begun = thread_time()
    await engine.run(chain, name, STEPS)
    return (thread_time() - begun) / STEPS * 1e6


async def cold_us(engine: Engine, device: NoWrite, name: str) -> float:
    """As after a real flush, during which others had the core: without the sweep itself."""
    device.is_sweeping, device.swept_s = True, 0.0
    us_a_step = await cpu_us_a_step(engine, name)
    device.is_sweeping = False
    return us_a_step - device.swept_s / STEPS * 1e6


async def main(directory: Path, *, is_profiled: bool) -> None:
    devices: list[NoWrite] = []

    def assemble(clock: Clock, wake: Wake) -> Assembly:
        held = Directory.acquire(directory)
        # 80 us, as a fast disk: a write goes inline.
        devices.append(NoWrite(directory, calibrate(directory).method, 80_000))
        return assemble_on(devices[0], held, clock, wake)

    async with Engine.open(":memory:", workflows=[chain]) as memory:
        in_memory = [await cpu_us_a_step(memory, f"run-{number}") for number in range(ROUNDS)]
    sampler = Sampler()
    async with Engine(assemble, Registry([chain])) as engine:
        devices[0].is_forgetful = True
        on_disk = [await cpu_us_a_step(engine, f"run-{number}") for number in range(ROUNDS)]
        cold = [await cold_us(engine, devices[0], f"cold-{number}") for number in range(3)]
        if is_profiled:
            sampler.start()
            for number in range(ROUNDS_PROFILED):
                await cpu_us_a_step(engine, f"profiled-{number}")
            sampler.stop()
    print(f":memory:            {min(in_memory):6.2f} us of CPU a step")
    print(f"path to the disk    {min(on_disk):6.2f} us of CPU a step, without the write")
    print(f"the same, cold      {min(cold):6.2f} us of CPU a step, caches swept by each write")
    if is_profiled:
        sampler.show(min(on_disk))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as place:
        asyncio.run(main(Path(place), is_profiled=options.profile))
