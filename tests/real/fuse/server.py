"""The process of a file system: answers the kernel, and takes orders on its standard input.

    python -m tests.real.fuse.server lossy TARGET [direct]
    python -m tests.real.fuse.server recorder TARGET SIZE RECORD CONTROL_SOCKET

Orders are JSON lines, {"do": name, ...}, each answered with one. When its input ends, it
unmounts and ends, so it does not outlive who started it.
"""

from __future__ import annotations

import errno
import json
import os
import select
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from tests.real.fuse import protocol
from tests.real.fuse.content import Loss
from tests.real.fuse.lossy import Cut, Faults, LossyFileSystem
from tests.real.fuse.protocol import Op, Request, Session, unmount
from tests.real.fuse.recorder import Recorder

Order = dict[str, Any]


class FileSystem(Protocol):
    """Answers the kernel."""

    def handle(self, request: Request) -> bytes: ...


class LossyOrders:
    """What a lossy file system can be told."""

    def __init__(self, file_system: LossyFileSystem) -> None:
        self._fs = file_system

    def obey(self, order: Order) -> dict[str, Any]:
        fs = self._fs
        match order.pop("do"):
            case "cut":
                loss = Loss(**order["loss"])
                fs.faults.cut = Cut(fs.change_count + order["at"], order["pid"], loss)
            case "lose":
                fs.lose_power(Loss(**order))
            case "on":
                fs.is_off = False
                fs.faults = Faults()
                fs.segment_writes = 0
            case "forget_removed":
                fs.forget_removed()
            case "eio_once":
                fs.faults.eio_at = fs.change_count + order["at"]
            case "full":
                fs.faults.is_full = order["is_full"]
            case "lie":
                fs.faults.is_lying = order.get("always", False)
                fs.faults.lie_at = order.get("at", 0)
            case "latent":
                fs.faults.unreadable = {(order["path"], order["unit"])}
            case "flip":
                fs.flip(order["path"], order["offset"], order["bit"])
            case "counts":
                return {
                    "changes": fs.change_count,
                    "segment_writes": fs.segment_writes,
                    "is_off": fs.is_off,
                    "kinds": fs.counts,
                }
            case other:
                return {"error": f"no such order: {other}"}
        return {}


class RecorderOrders:
    """What a recorder can be told."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def obey(self, order: Order) -> dict[str, Any]:
        match order["do"]:
            case "position":
                return {"position": self._recorder.position}
            case "start":
                self._recorder.is_recording = True
                return {"position": self._recorder.position}
            case other:
                return {"error": f"no such order: {other}"}


class Orders:
    """Lines on a descriptor, each obeyed and answered."""

    def __init__(self, source: int, sink: int, obey: Callable[[Order], dict[str, Any]]) -> None:
        self.source = source
        self._sink = sink
        self._obey = obey
        self._rest = b""

    def take(self) -> bool:
        """Obey what has come; return whether more may."""
        more = os.read(self.source, 1 << 16)
        *lines, self._rest = (self._rest + more).split(b"\n")
        for line in lines:
            os.write(self._sink, json.dumps(self._obey(json.loads(line))).encode() + b"\n")
        return bool(more)


def _answer(session: Session, file_system: FileSystem) -> bool:
    request = session.receive()
    if request is None or request.op == Op.DESTROY:
        return False
    if request.op == Op.INIT:
        session.answer(request, [protocol.init_answer(request)])
        return True
    try:
        session.answer(request, [file_system.handle(request)])
    except OSError as error:
        session.answer(request, error=error.errno or errno.EIO)
    return True


def serve(
    session: Session,
    file_system: FileSystem,
    obey: Callable[[Order], dict[str, Any]],
    listener: socket.socket | None,
) -> None:
    """Serve until standard input ends or the file system is unmounted."""
    standard = Orders(sys.stdin.fileno(), sys.stdout.fileno(), obey)
    others: dict[int, tuple[socket.socket, Orders]] = {}
    while True:
        watched = [session.fd, standard.source, *others]
        if listener is not None:
            watched.append(listener.fileno())
        ready, _, _ = select.select(watched, [], [])
        for fd in ready:
            if fd == session.fd:
                if not _answer(session, file_system):
                    return
            elif fd == standard.source:
                if not standard.take():
                    return
            elif fd in others:
                if not others[fd][1].take():
                    others.pop(fd)[0].close()
            else:
                assert listener is not None
                caller, _ = listener.accept()
                others[caller.fileno()] = (caller, Orders(caller.fileno(), caller.fileno(), obey))


def main(kind: str, target: str, *rest: str) -> None:
    listener = None
    file_system: FileSystem
    if kind == "lossy":
        lossy = LossyFileSystem(is_direct="direct" in rest)
        file_system, obey = lossy, LossyOrders(lossy).obey
    else:
        size, record, control = rest
        recorder = Recorder(int(size), Path(record))
        file_system, obey = recorder, RecorderOrders(recorder).obey
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(control)
        listener.listen(4)
    session = Session(target, f"fusee-{kind}")
    print(json.dumps({"mounted": target}), flush=True)
    try:
        serve(session, file_system, obey, listener)
    finally:
        try:
            unmount(target)
        except OSError as error:
            if error.errno != errno.EINVAL:  # It is unmounted already.
                raise
        session.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
