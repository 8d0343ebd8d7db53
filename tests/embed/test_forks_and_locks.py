"""One process a directory: what a second one, and a forked child, are told."""

from __future__ import annotations

import signal
import socket

import pytest

from tests.support.processes import start_python

pytestmark = pytest.mark.real

HOLDER = """
import asyncio, sys
from fusee import Engine
from tests.support.counting import count_up

async def main():
    async with Engine.open(sys.argv[1], workflows=[count_up], drain=1) as engine:
        print("open", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""

OPENER = """
import asyncio, sys
from fusee import DirectoryLocked, Engine
from tests.support.counting import count_up

async def main():
    try:
        async with Engine.open(sys.argv[1], workflows=[count_up]):
            print("opened")
    except DirectoryLocked as locked:
        print(locked.pid, locked.host, locked)

asyncio.run(main())
"""

FORKER = """
import asyncio, os, sys
from pathlib import Path
from fusee import Engine, EngineStopped, ForkedEngine
from tests.support.counting import count_up

def content():
    files = Path(sys.argv[1]).iterdir()
    return {file.name: file.is_file() and file.read_bytes() for file in files}

async def main():
    async with Engine.open(sys.argv[1], workflows=[count_up], drain=1) as engine:
        await engine.run(count_up, "before" + sys.argv[2], 3)
        begun = asyncio.ensure_future(engine.start(count_up, "at the fork" + sys.argv[2], 3))
        await asyncio.sleep(0)
        before = content()
        child = os.fork()
        if child == 0:
            try:
                await engine.start(count_up, "in the child", 3)
            except ForkedEngine as forked:
                print("child:", forked, flush=True)
            # What a child does that forgets to end itself at once: the loop turns on in it,
            # with a batch to flush, and the engine's block is left.
            for _ in range(5):
                await asyncio.sleep(0)
            await engine.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert content() == before, "the child wrote to its parent's log"
        await begun
        number = await engine.run(count_up, "after" + sys.argv[2], 3)
        print("parent:", number, engine.stopped, flush=True)

asyncio.run(main())
"""


def test_a_second_process_is_told_who_has_the_directory(tmp_path):
    with start_python(HOLDER, tmp_path / "log") as holder:
        assert holder.stdout.readline() == "open\n"
        with start_python(OPENER, tmp_path / "log") as opener:
            out, _ = opener.communicate(timeout=60)
        holder.stdin.write("\n")
    pid, host, text = out.split(" ", 2)
    assert (int(pid), host) == (holder.pid, socket.gethostname())
    assert f"process {holder.pid}" in text


def test_a_killed_process_leaves_a_directory_that_opens(tmp_path):
    with start_python(HOLDER, tmp_path / "log") as holder:
        holder.stdout.readline()
        holder.send_signal(signal.SIGKILL)
    with start_python(OPENER, tmp_path / "log") as opener:
        assert opener.communicate(timeout=60)[0] == "opened\n"


def test_a_forked_child_is_refused_and_leaves_its_parent_unharmed(tmp_path):
    for life in range(2):
        with start_python(FORKER, tmp_path / "log", life) as forker:
            out, err = forker.communicate(timeout=60)
        assert forker.returncode == 0, err
        assert "child: " in out
        assert "was opened by the parent of this process" in out
        assert "parent: 3 None" in out
    with start_python(OPENER, tmp_path / "log") as opener:
        assert opener.communicate(timeout=60)[0] == "opened\n", "the log is whole"
