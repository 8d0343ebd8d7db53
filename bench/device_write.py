"""What one durable 4 KiB write costs, and what of it is ours.

Compares `FileDevice.write` with the bare system call on the same file, and shows the CPU
time per write. Run: python bench/device_write.py DIR [WRITES]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from statistics import median
from time import perf_counter_ns, thread_time_ns

from fusee.base.limits import BLOCK_SIZE
from fusee.io.file_device import FileDevice
from fusee.io.methods import candidate_methods, open_flags, put_of

BLOCKS = 256


def measure(name, write, count):
    took = []
    cpu_ns = thread_time_ns()
    for index in range(count):
        offset = index % BLOCKS * BLOCK_SIZE
        start = perf_counter_ns()
        write(offset)
        took.append(perf_counter_ns() - start)
    cpu_ns = (thread_time_ns() - cpu_ns) / count
    took.sort()
    p50, p99 = median(took) / 1000, took[int(len(took) * 0.99)] / 1000
    print(f"{name:42} p50 {p50:7.1f} us  p99 {p99:7.1f} us  cpu {cpu_ns / 1000:5.1f} us a write")


def bench_method(directory, method, count):
    device = FileDevice(directory, method, 0)
    device.create("bench.seg", [os.urandom(BLOCK_SIZE) for _ in range(BLOCKS)])
    frame = device.buffer(BLOCK_SIZE)
    frame[:] = os.urandom(BLOCK_SIZE)
    block = bytes(frame)
    fd = os.open(directory / "bench.seg", open_flags(method))
    put = put_of(method)
    for _ in range(2):
        measure(f"{method} bare call", lambda offset: put(fd, frame, offset), count)
        measure(f"{method} write(frame)", lambda o: device.write("bench.seg", o, frame), count)
        measure(f"{method} write(bytes)", lambda o: device.write("bench.seg", o, block), count)
    os.close(fd)
    device.close()
    os.unlink(directory / "bench.seg")


def main():
    directory = Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    for method in candidate_methods():
        bench_method(directory, method, count)


if __name__ == "__main__":
    main()
