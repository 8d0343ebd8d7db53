"""`python -m bench`: every measurement of this folder, and whether it reaches what it must.

Each row runs in a process of its own, so that no row pays for another's garbage, and a row
that breaks takes no other with it.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import msgspec

from bench.machine import CpuShare, NotADisk, check_disk, describe, header, warning
from bench.rows import Row, exit_code, failed_row, table

NAMES = (
    "chain",
    "many",
    "read_only",
    "second_load",
    "host_timer",
    "reopen",
    "submit_switch",
)
"""Modules with `measure(place, quick=...) -> list[Row]`, in the order they run."""
MODULES = {name: f"bench.{name}" for name in NAMES} | {"submit_switch": "bench.switch_over"}
TIMEOUT_S = 900.0


def child(name: str, place: Path, *, quick: bool) -> None:
    """Measure one module and print its rows as JSON."""
    rows = importlib.import_module(MODULES[name]).measure(place, quick=quick)
    sys.stdout.buffer.write(msgspec.json.encode(rows))


def run_child(name: str, place: Path, *, quick: bool) -> list[Row]:
    """Measure one module in a process of its own, in a directory of its own."""
    with tempfile.TemporaryDirectory(dir=place, prefix=f"{name}-") as own:
        command = [sys.executable, "-m", "bench", "--child", name, "--dir", own]
        try:
            done = subprocess.run(
                [*command, "--quick"] if quick else command,
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return [failed_row(name, f"did not end within {TIMEOUT_S:g} s")]
    if done.returncode:
        tail = done.stderr.decode(errors="replace").strip().splitlines()[-30:]
        return [failed_row(name, "\n".join(tail) or f"ended with {done.returncode}")]
    return msgspec.json.decode(done.stdout, type=list[Row])


def measure_all(names: list[str], place: Path, *, quick: bool) -> list[Row]:
    """Run the named modules, one after the other."""
    rows: list[Row] = []
    for name in names:
        begun = perf_counter()
        print(f"{name} ...", end=" ", file=sys.stderr, flush=True)
        rows += run_child(name, place, quick=quick)
        print(f"{perf_counter() - begun:.1f} s", file=sys.stderr, flush=True)
    return rows


def save(path: Path, facts: dict[str, object], rows: list[Row]) -> None:
    """Write the result as JSON."""
    listed = [msgspec.to_builtins(row) | {"verdict": row.verdict} for row in rows]
    data = msgspec.json.format(msgspec.json.encode({"machine": facts, "rows": listed}), indent=2)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data + b"\n")


def run(options: argparse.Namespace, place: Path) -> int:
    """Measure in a directory, print the table, return the exit code."""
    facts = describe(place)
    print(header(facts))
    if said := warning(facts["foreign_cpu_before"], facts["load_average"][0]):
        print(said)
    if options.quick:
        print("--quick: short rounds; good to see that it works, not to quote")
    print(flush=True)
    share, begun = CpuShare(), perf_counter()
    rows = measure_all(options.only or list(NAMES), place, quick=options.quick)
    facts |= {
        "foreign_cpu_during": share.foreign(),
        "seconds": round(perf_counter() - begun, 1),
        "quick": options.quick,
    }
    print(table(rows))
    print(
        f"\n{facts['seconds']:.0f} s; meanwhile others used "
        f"{facts['foreign_cpu_during']:.0%} of the CPUs"
    )
    if said := warning(facts["foreign_cpu_during"], os.getloadavg()[0]):
        print(said)
    if options.json is not None:
        save(options.json, facts, rows)
    return exit_code(rows)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--dir", type=Path, help="measure on the disk of this directory")
    parser.add_argument("--quick", action="store_true", help="about 20 s, short rounds")
    parser.add_argument("--only", action="append", choices=NAMES, help="one of them; may repeat")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the result here")
    parser.add_argument("--child", choices=NAMES, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    options = parse()
    if options.child is not None:
        child(options.child, options.dir, quick=options.quick)
        return 0
    above = options.dir if options.dir is not None else Path.cwd()
    if not os.access(above, os.W_OK):
        print(f"{above}: not a directory that can be written; name one with --dir", file=sys.stderr)
        return 2
    try:
        check_disk(above)
    except NotADisk as error:
        print(error, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(dir=above, prefix=".fusee-bench-") as place:
        return run(options, Path(place))


if __name__ == "__main__":
    sys.exit(main())
