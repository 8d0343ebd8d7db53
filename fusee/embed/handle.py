"""`Run`: a handle of one run, held by whoever talks to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

from fusee.sdk.messages import Asking, Sending, query_of, signal_of

if TYPE_CHECKING:
    from fusee.engine.views import JournalEntry, RunInfo
    from fusee.record.payload import Codec
    from fusee.sdk.retry import Duration

R = TypeVar("R")
T = TypeVar("T")
I = TypeVar("I")  # noqa: E741 - input, as in the documentation
O = TypeVar("O")  # noqa: E741 - output


class RunClient(Protocol):
    """What carries the calls of a handle to an engine; see `fusee.embed.client`."""

    async def result(
        self, workflow_id: str, ordinal: int | None, codec: Codec, timeout: Duration | None
    ) -> Any:
        """Wait for a run to end; return its value."""
        ...

    async def signal(
        self,
        workflow_id: str,
        ordinal: int | None,
        name: str,
        payload: bytes,
        signal_id: str | None,
    ) -> bool:
        """Send a signal; return whether its id was known with another value."""
        ...

    async def query(
        self, workflow_id: str, ordinal: int | None, name: str, payload: bytes
    ) -> bytes:
        """Ask a run."""
        ...

    async def describe(self, workflow_id: str, ordinal: int | None) -> RunInfo:
        """Describe a run."""
        ...

    async def journal(self, workflow_id: str, ordinal: int | None) -> list[JournalEntry]:
        """Return a run's operations."""
        ...


class Run(Generic[R]):
    """One run of a workflow. Cheap, stateless; cancelling a wait on it never touches the run."""

    __slots__ = ("_client", "_codec", "id", "input_differs", "ordinal", "started_by_me")

    def __init__(
        self,
        client: RunClient,
        workflow_id: str,
        ordinal: int | None,
        codec: Codec,
        *,
        started_by_me: bool = False,
        input_differs: bool = False,
    ) -> None:
        self._client = client
        self._codec = codec
        self.id = workflow_id
        """The workflow ID."""
        self.ordinal = ordinal
        """Which run of the ID, from 1; None is the newest at each call."""
        self.started_by_me = started_by_me
        """Whether this call started the run, not an earlier one."""
        self.input_differs = input_differs
        """Whether the run was found instead of started, and has another input than was given."""

    def __repr__(self) -> str:
        return f"<run {self.id}{'' if self.ordinal is None else f'/{self.ordinal}'}>"

    async def result(self, timeout: Duration | None = None) -> R:
        """Wait for the run's result; return it once it is durable.

        Raises `WorkflowFailed` from the workflow's own exception, `WorkflowTerminated`,
        `WorkflowCancelled`, `RunNotFound`; TimeoutError when `timeout` passes first.
        """
        value: R = await self._client.result(self.id, self.ordinal, self._codec, timeout)
        return value

    @overload
    async def signal(self, signal: Sending[None], /, *, signal_id: str | None = None) -> None: ...
    @overload
    async def signal(
        self, signal: Sending[T], value: T, /, *, signal_id: str | None = None
    ) -> None: ...
    @overload
    async def signal(
        self, signal: str, value: Any = None, /, *, signal_id: str | None = None
    ) -> None: ...
    async def signal(
        self, signal: Sending[Any] | str, value: Any = None, /, *, signal_id: str | None = None
    ) -> None:
        """Send a signal; return once it is durable.

        The same `signal_id` twice is one signal. Raises `WorkflowFinished`, `RunNotFound`,
        `Backlogged`.
        """
        typed = signal_of(signal)
        payload = typed.encode(value)
        await self._client.signal(self.id, self.ordinal, typed.name, payload, signal_id)

    @overload
    async def query(self, query: Asking[None, O], /) -> O: ...
    @overload
    async def query(self, query: Asking[I, O], value: I, /) -> O: ...
    @overload
    async def query(self, query: str, value: Any = None, /) -> Any: ...
    async def query(self, query: Asking[Any, Any] | str, value: Any = None, /) -> Any:
        """Ask the run; the answer comes once the state it reads is durable.

        Raises `UnknownHandler`, `QueryFailed` from the handler's exception, `RunHeld`,
        `RunNotFound`.
        """
        typed = query_of(query)
        payload = b"" if value is None else typed.encode(value)
        return typed.decode(await self._client.query(self.id, self.ordinal, typed.name, payload))

    async def describe(self) -> RunInfo:
        """Return what the run is and what it waits for."""
        return await self._client.describe(self.id, self.ordinal)

    async def journal(self) -> list[JournalEntry]:
        """Return the run's operations in the order its code called them."""
        return await self._client.journal(self.id, self.ordinal)
