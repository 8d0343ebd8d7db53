"""Directed scenarios: a rare moment, reached every time, and what must hold behind it.

Each module here has a docstring that says the claim and a function `play`. Its parameter
says what it is played on: `Play` (an application over an engine, `play.py`) or `Bytes` (a log
over a disk, `bytes.py`). Run one with `python -m sim.scenarios NAME [--bug NAME]`.

Random seeds find what nobody thought of; a scenario finds one thing in one try, and stays when
the seeds have changed their meaning.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil

MACHINERY = {"__main__", "apps", "group_play", "log_play", "play", "script", "script_device"}


class ScenarioFailed(Exception):
    """A promise was broken, or the moment that the scenario is about never came."""


def names() -> list[str]:
    """Return the names of all scenarios."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name not in MACHINERY)


def run(name: str) -> None:
    """Play one scenario. Raises `ScenarioFailed`, or whatever broke."""
    module = importlib.import_module(f"{__name__}.{name}")
    (parameter,) = inspect.signature(module.play, eval_str=True).parameters.values()
    play = parameter.annotation()
    module.play(play)
    play.check()
