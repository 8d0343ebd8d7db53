"""Which code a run gets: workflows by name and version, and how a run is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from fusee.base.errors import UnknownWorkflow
from fusee.engine.messages import stage
from fusee.engine.run import Held
from fusee.sdk.activation import Activation
from fusee.sdk.workflow import Workflow

if TYPE_CHECKING:
    from fusee.engine.core import Core
    from fusee.engine.program import Program
    from fusee.engine.run import Run
    from fusee.journal.machine import Machine


class Registry:
    """The workflows an engine was opened with. Several versions of a name may be registered."""

    def __init__(self, workflows: Iterable[Workflow[Any, Any]]) -> None:
        self._by_name: dict[str, dict[str, Workflow[Any, Any]]] = {}
        for workflow in workflows:
            if not isinstance(workflow, Workflow):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(
                    "workflows=[...] takes functions decorated with @fusee.workflow, not "
                    f"{workflow!r}"
                )
            versions = self._by_name.setdefault(workflow.name, {})
            other = versions.get(workflow.version)
            if other is not None and other.fn is not workflow.fn:
                raise ValueError(
                    f"two workflows are registered as {workflow.name}@{workflow.version}: give one "
                    "of them another name= or version="
                )
            versions[workflow.version] = workflow

    def __iter__(self) -> Any:
        return (w for versions in self._by_name.values() for w in versions.values())

    def find(self, name: str, version: str) -> Workflow[Any, Any] | None:
        """Return the workflow a run started with, None when it is not registered."""
        return self._by_name.get(name, {}).get(version)

    def newest(self, name: str) -> Workflow[Any, Any]:
        """Return the highest version of a name. Raises `UnknownWorkflow`."""
        versions = self._by_name.get(name)
        if not versions:
            known = ", ".join(sorted(self._by_name)) or "none"
            raise UnknownWorkflow(
                f"no workflow {name!r} is registered (registered: {known}): pass it to "
                "Engine.open(workflows=[...])"
            )
        return versions[max(versions, key=_version_order)]

    def versions(self, name: str) -> list[str]:
        """Return the registered versions of a name."""
        return sorted(self._by_name.get(name, {}), key=_version_order)


def _version_order(version: str) -> tuple[tuple[int, int | str], ...]:
    """Order "2" before "10": digits as numbers, the rest as text."""
    parts = version.replace("-", ".").split(".")
    return tuple((0, int(p)) if p.isdigit() else (1, p) for p in parts)


def loader(
    registry: Registry, core_of: Callable[[], Core], entropy: Callable[[int], bytes]
) -> Callable[[Run, Machine], Program | Held]:
    """Return the function by which the engine loads the code of a run."""

    def load(run: Run, machine: Machine) -> Program | Held:
        facts = machine.facts
        workflow = registry.find(facts.workflow, facts.version)
        if workflow is None:
            versions = ", ".join(registry.versions(facts.workflow)) or "none"
            return Held(
                "no-code",
                f"run {run.key} is of {facts.workflow}@{facts.version}, which is not registered "
                f"(registered versions: {versions}); open the engine with that version",
            )
        core = core_of()

        def send(position: int, target_id: str, name: str, payload: bytes) -> None:
            stage(core, run, position, target_id, name, payload)

        return Activation(
            workflow,
            machine,
            run.facts().input,
            stage=send,
            entropy=entropy,
            now_us=core.log.now_us,
        )

    return load
