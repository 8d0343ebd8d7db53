"""MODULE:ATTR, as people type it, to workflows."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Iterable
from types import ModuleType
from typing import Any, cast

from fusee.cli.exits import CommandFailed, ExitCode
from fusee.sdk.workflow import Workflow

_FORM = "name it as MODULE:ATTR, for example shop.app:workflows"


def load_workflows(target: str) -> list[Workflow[Any, Any]]:
    """Return the workflows that `target` names. Fails as wrong usage, saying what to do."""
    module_name, path = split_target(target)
    module = _import(module_name)
    value: Any = module
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise _usage(f"{module_name} has no attribute {path!r}; {_known(module)}") from None
    if isinstance(value, Workflow):
        return [value]
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        items = list(cast("Iterable[Any]", value))
        if items and all(isinstance(item, Workflow) for item in items):
            return items
    raise _usage(
        f"{target} is {_described(value)}; it must be a function decorated with @fusee.workflow,"
        f" or a list of such; {_known(module)}"
    )


def split_target(target: str) -> tuple[str, str]:
    """Return module and attribute of what was typed. Fails as wrong usage."""
    module_name, colon, path = target.partition(":")
    if not (module_name and colon and path):
        raise _usage(f"{target!r} names no workflows; {_FORM}")
    # As `python -m` does: what a project calls its modules is meant from where one stands.
    if "" not in sys.path:
        sys.path.insert(0, "")
    return module_name, path


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise _usage(
                f"there is no module {error.name!r} here; run this in the project's directory, or"
                " install the project"
            ) from None
        raise _failed(name, error) from error
    except (Exception, SystemExit) as error:
        raise _failed(name, error) from error


def _failed(name: str, error: BaseException) -> CommandFailed:
    trace = "".join(traceback.format_exception(error)).rstrip()
    return _usage(f"importing {name} failed\n{trace}")


def _known(module: ModuleType) -> str:
    names = sorted(n for n, value in vars(module).items() if isinstance(value, Workflow))
    return f"workflows in {module.__name__}: {', '.join(names) or 'none'}"


def _described(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"a {type(value).__name__}"


def _usage(text: str) -> CommandFailed:
    return CommandFailed(ExitCode.USAGE, text)
