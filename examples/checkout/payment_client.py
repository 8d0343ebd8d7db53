"""How the shop talks to the payment service: one POST a call, from async and from plain code."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

from fusee import NonRetryable

URL_VARIABLE = "CHECKOUT_PAYMENTS_URL"
TIMEOUT_S = 5.0


class PaymentServiceDown(Exception):
    """The service answered 5xx: whether the money moved is unknown, ask again with the same key."""


class PaymentRefused(NonRetryable):
    """The service understood and said no; asking again gets the same answer."""


async def call(kind: str, key: str, body: dict[str, str]) -> str:
    """Ask for a charge and return the service's id for it."""
    host, port = _address()
    content = json.dumps(body).encode()
    reader, writer = await asyncio.open_connection(host, port)
    try:
        head = (
            f"POST /{kind} HTTP/1.1\r\nHost: {host}\r\nIdempotency-Key: {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
            "Connection: close\r\n\r\n"
        )
        writer.write(head.encode() + content)
        answer = await reader.read()
    finally:
        writer.close()
    status_line, _, _ = answer.partition(b"\r\n")
    if not status_line:
        raise PaymentServiceDown("hung up without an answer")
    return _id_in(int(status_line.split()[1]), answer.partition(b"\r\n\r\n")[2])


def call_blocking(kind: str, key: str, body: dict[str, str]) -> str:
    """The same for code that runs in a thread."""
    with closing(HTTPConnection(*_address(), timeout=TIMEOUT_S)) as connection:
        connection.request("POST", f"/{kind}", json.dumps(body), {"Idempotency-Key": key})
        answer = connection.getresponse()
        return _id_in(answer.status, answer.read())


def _address() -> tuple[str, int]:
    url = urlsplit(os.environ[URL_VARIABLE])
    assert url.hostname is not None
    assert url.port is not None
    return url.hostname, url.port


def _id_in(status: int, content: bytes) -> str:
    answer: dict[str, str] = json.loads(content)
    if status >= 500:
        raise PaymentServiceDown(answer["error"])
    if status != 200:
        raise PaymentRefused(answer["error"])
    return answer["id"]
