"""Payload bytes must not depend on the process that writes them."""

import os
import subprocess
import sys

PROGRAM = """
from dataclasses import dataclass
from typing import Any
from decimal import Decimal
import pydantic
from fusee.record.payload import codec_for

@dataclass
class Box:
    names: set[str]
    deep: frozenset[frozenset[str]]
    free: Any

class Model(pydantic.BaseModel):
    names: set[str]
    by: dict[str, set[str]]

words = [f"word{i}" for i in range(30)]
box = Box(set(words), frozenset((frozenset(words), frozenset(words[:3]))), {Decimal(1), *words})
print(codec_for(Box, where="x").encode(box))
print(codec_for(Any, where="x").encode([set(words), frozenset(words)]))
print(codec_for(list[Model], where="x").encode([Model(names=set(words), by={"a": set(words)})]))
"""


def test_sets_give_the_same_bytes_under_every_hash_seed():
    written = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(written) == 1
    assert b"word29" in written.pop()


def test_neither_pydantic_nor_attrs_is_imported_for_those_who_do_not_use_them():
    program = (
        "import sys, fusee.record.payload, fusee.record.signature, fusee.record.failure\n"
        "print(sorted({'pydantic', 'attr', 'attrs', 'asyncio', 'numpy'} & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=True,
    )
    assert found.stdout.split() == [b"[]"]
