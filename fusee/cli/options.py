"""Options that commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fusee.base.names import check_id, check_name
from fusee.cli.output import FORMATS, TABLE

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_DIR = Path(".fusee")

output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(FORMATS),
    default=TABLE,
    show_default=True,
    help="How to print the answer.",
)
dir_option = click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path),
    envvar="FUSEE_DIR",
    show_envvar=True,
    default=DEFAULT_DIR,
    show_default="./.fusee",
    help="The engine's directory.",
)
timeout_option = click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the process that has the directory open.",
)


if TYPE_CHECKING:
    _TextType = click.ParamType[str]
else:
    _TextType = click.ParamType  # Generic for the type checker only, before click 8.4.


class _Checked(_TextType):
    """A text that one of the engine's own checks accepts."""

    def __init__(self, name: str, check: Callable[[str], str]) -> None:
        self.name = name
        self._check = check

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text. Fails as wrong usage."""
        try:
            return self._check(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


RUN_ID = _Checked("id", check_id)
NAME = _Checked("name", check_name)
SIGNAL_ID = _Checked("signal id", lambda value: check_id(value, what="signal's ID"))
ORDINAL = click.IntRange(min=1)

run_argument = click.argument("workflow_id", metavar="ID", type=RUN_ID)
run_option = click.option(
    "--run",
    "ordinal",
    type=ORDINAL,
    metavar="N",
    help="Which run of the ID, from 1. [default: the newest]",
)
