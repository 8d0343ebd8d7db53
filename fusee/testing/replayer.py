"""`Replayer`: does new code still fit the journals that old code has written?

    Replayer([checkout], hash_seeds=3).replay_dir("tests/journals").raise_if_different()

A directory is an engine's, such as a copy of production's. It is only read. Each hash seed is a
process of its own, since the order of a set of strings differs from process to process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from fusee.embed.programs import Registry
from fusee.sdk.workflow import Workflow
from fusee.testing.replay import Replayed, Task, workflow_at

_TOLD_MAX = 20


@dataclass(frozen=True)
class Replays:
    """What a replay of a directory has found."""

    directory: str
    same: int
    """How many runs the code replays as they were recorded, under every hash seed."""
    different: dict[str, str]
    """Runs it does not, by key: the text says at which operation and what differs."""
    without_code: tuple[str, ...]
    """Runs of workflows or versions that were not given, which were not replayed."""

    def raise_if_different(self) -> None:
        """Raise AssertionError when a run differs, and when there was nothing to replay."""
        if self.different:
            texts = list(self.different.values())
            more = f"\n\nand {len(texts) - _TOLD_MAX} more" if len(texts) > _TOLD_MAX else ""
            count = len(texts) + self.same
            raise AssertionError(
                f"{len(texts)} of {count} runs in {self.directory} do not fit the code:\n\n"
                + "\n\n".join(texts[:_TOLD_MAX])
                + more
            )
        if not self.same:
            others = f"; {len(self.without_code)} runs are of others" if self.without_code else ""
            raise AssertionError(f"{self.directory} has no run of these workflows{others}")


class Replayer:
    """Replays journals with the given workflows, in processes of their own.

    hash_seeds: under how many values of PYTHONHASHSEED. Raises TypeError for what is no
    workflow, ValueError for workflows that another process cannot import.
    """

    def __init__(self, workflows: Iterable[Workflow[Any, Any]], *, hash_seeds: int = 1) -> None:
        if type(hash_seeds) is not int or hash_seeds < 1:
            raise ValueError(f"hash_seeds={hash_seeds!r}: a whole number of at least 1")
        given: Any = workflows
        if isinstance(given, Workflow) or not isinstance(given, Iterable):
            raise TypeError(f"Replayer takes a list of workflows, not {given!r}")
        registry = Registry(workflows)
        self._hash_seeds = hash_seeds
        self._places = [_place_of(workflow) for workflow in registry]

    def replay_dir(self, directory: str | os.PathLike[str]) -> Replays:
        """Replay every run of an engine's directory, open or finished; nothing is changed.

        Raises `DirectoryRefused` when there is none, `AcknowledgedDataLost` when it is damaged,
        RuntimeError with the process's words when one fails otherwise.
        """
        from fusee.node.offline import check_directory

        path = Path(directory)
        check_directory(path)
        task = Task(str(path.absolute()), self._places, [os.path.abspath(p) for p in sys.path])
        found = [_replay(task, hash_seed) for hash_seed in range(1, self._hash_seeds + 1)]
        different: dict[str, str] = {}
        for hash_seed, replayed in enumerate(found, start=1):
            for key, text in replayed.different.items():
                different.setdefault(key, f"{text} (with PYTHONHASHSEED={hash_seed})")
        first = found[0]
        same = first.same + len(first.different) - len(different)
        return Replays(str(directory), same, different, tuple(first.without_code))


def _place_of(workflow: Workflow[Any, Any]) -> tuple[str, str]:
    module, name = workflow.__module__, workflow.fn.__qualname__
    if module != "__main__" and "<locals>" not in name:
        try:
            if workflow_at(module, name) is workflow:
                return module, name
        except (ImportError, LookupError):
            pass
    raise ValueError(
        f"Replayer imports workflow {workflow.name!r} in other processes, which do not find it as "
        f"{module}.{name}; define it at the top of a module that can be imported"
    )


def _replay(task: Task, hash_seed: int) -> Replayed:
    done = subprocess.run(
        [sys.executable, "-m", "fusee.testing.replay"],
        input=msgspec.json.encode(task),
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": _pythonpath()},
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip()
        raise RuntimeError(f"{task.directory} could not be replayed:\n{words}")
    return msgspec.json.decode(done.stdout.rpartition(b"\n")[2], type=Replayed)


def _pythonpath() -> str:
    """Return where Fusee itself is found; the rest of the path comes with the task."""
    ours = str(Path(__file__).parents[2])
    return os.pathsep.join(filter(None, (ours, os.environ.get("PYTHONPATH"))))
