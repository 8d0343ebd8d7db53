"""TLS between replicas: version 1.3, both certificates, one authority, and renewal without a stop.

A pair of contexts is made whole and tried, by a handshake with itself in memory, before anybody
uses it: a key that does not fit, a chain that does not lead to the authority, or a certificate
that is out of date is refused while the old one still serves. Connections that are there stay.

Whose certificate it is decides the hello (`fusee.wire.hello`), by subjectAltName.
"""

from __future__ import annotations

import ssl
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from fusee.base.errors import EngineError

if TYPE_CHECKING:
    from pathlib import Path


class TlsRefused(EngineError):
    """Certificate, key and authority do not serve; the text says which, and what to do."""


class TlsFiles(msgspec.Struct, frozen=True):
    """PEM files. `authority` is the cluster's own; the system's are never asked."""

    certificate: Path
    key: Path
    authority: Path


class Tls:
    """The contexts that connections are secured with. `reload` takes renewed files."""

    def __init__(self, files: TlsFiles) -> None:
        """Read the files. Raises `TlsRefused`."""
        self.reloads: Counter[str] = Counter()
        """How reloads have ended: "ok" or "rejected"."""
        self.names: frozenset[str]
        self.expires_at_s: float
        """Unix time at which the certificate ends."""
        self._files = files
        self.calling: ssl.SSLContext
        """For connections that this replica makes. Asked for anew each time."""
        self._current: ssl.SSLContext
        self._take(*_load(files))
        self.listening = _context(ssl.PROTOCOL_TLS_SERVER, files)
        """For the listener, which keeps it for ever: each handshake is given the newest one."""
        self.listening.sni_callback = self._hand_over

    def reload(self) -> None:
        """Read the files again and use them from now on. Raises `TlsRefused`; the old ones stay."""
        try:
            loaded = _load(self._files)
        except TlsRefused:
            self.reloads["rejected"] += 1
            raise
        self._take(*loaded)
        self.reloads["ok"] += 1

    def _take(
        self, listening: ssl.SSLContext, calling: ssl.SSLContext, certificate: dict[str, Any]
    ) -> None:
        self._current, self.calling = listening, calling
        self.names = names_of(certificate)
        self.expires_at_s = float(ssl.cert_time_to_seconds(certificate["notAfter"]))

    def _hand_over(self, handshake: Any, name: str | None, context: ssl.SSLContext) -> None:
        handshake.context = self._current


def names_of(certificate: dict[str, Any]) -> frozenset[str]:
    """Return the DNS names of a certificate, as `getpeercert` returns it."""
    found: tuple[tuple[str, str], ...] = certificate.get("subjectAltName", ())
    return frozenset(name for kind, name in found if kind == "DNS")


def _load(files: TlsFiles) -> tuple[ssl.SSLContext, ssl.SSLContext, dict[str, Any]]:
    listening = _context(ssl.PROTOCOL_TLS_SERVER, files)
    calling = _context(ssl.PROTOCOL_TLS_CLIENT, files)
    try:
        certificate = _shake_hands(listening, calling)
    except ssl.SSLCertVerificationError as error:
        raise TlsRefused(
            f"{files.certificate}: {error.verify_message}. It must be signed by"
            f" {files.authority}, be in date, and serve for both servers and clients"
        ) from None
    except ssl.SSLError as error:
        raise TlsRefused(f"{files.certificate}: {error.reason or error}") from None
    if not names_of(certificate):
        raise TlsRefused(
            f"{files.certificate} has no DNS name as subjectAltName: replicas are known by"
            " <replica>.<cluster>.fusee.internal"
        )
    return listening, calling, certificate


def _context(side: int, files: TlsFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(side)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # The hello looks at the names; addresses are nobody's name.
    context.verify_mode = ssl.CERT_REQUIRED
    for path in (files.authority, files.certificate, files.key):
        try:
            with path.open("rb"):
                pass
        except OSError as error:
            raise TlsRefused(f"{path}: {error.strerror}") from None
    try:
        context.load_verify_locations(files.authority)
    except ssl.SSLError as error:
        raise TlsRefused(f"{files.authority} is no PEM certificate: {error.reason}") from None
    try:
        context.load_cert_chain(files.certificate, files.key, password=_no_password)
    except ssl.SSLError as error:
        what = "do not belong together" if error.reason == "KEY_VALUES_MISMATCH" else "are no PEM"
        raise TlsRefused(f"{files.certificate} and {files.key} {what}: {error.reason}") from None
    except ValueError:
        raise TlsRefused(f"{files.key} is encrypted; nobody is there to type a password") from None
    return context


def _no_password() -> str:
    raise ValueError


def _shake_hands(listening: ssl.SSLContext, calling: ssl.SSLContext) -> dict[str, Any]:
    """Let both contexts talk to each other in memory; return the certificate as others see it."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = listening.wrap_bio(to_server, to_client, server_side=True)
    client = calling.wrap_bio(to_client, to_server, server_side=False)
    waiting = [client, server]
    while waiting:
        for side in list(waiting):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting.remove(side)
    certificate: dict[str, Any] = server.getpeercert() or {}
    return certificate
