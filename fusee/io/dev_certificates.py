"""An authority and certificates for trying a cluster out. Keys lie beside them, unencrypted.

    DIR/ca.pem  ca.key    and for each replica    DIR/NAME.pem  NAME.key

Needs the extra `fusee[server]`.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from fusee.io.tls import TlsFiles
from fusee.wire.hello import certificate_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, KeyUsage

SLACK = timedelta(minutes=5)
"""Clocks of a cluster may differ by so much."""


class BadAuthority(Exception):
    """The files of an authority cannot be used; the text says what to do."""


class Authority:
    """Signs for one cluster. Kept in memory; `write` puts it on disk, `at` finds it there."""

    def __init__(self, cluster: str, *, days: float = 365.0, now: datetime | None = None) -> None:
        self._cluster = cluster
        self._days = days
        self._now = now or datetime.now(UTC)
        self._key = _new_key()
        self.certificate = self._signed(_subject(cluster), self._key, None)

    @classmethod
    def at(cls, directory: Path, cluster: str, *, days: float = 365.0) -> Authority:
        """Return the authority whose files lie in a directory; it is made if there is none.

        Raises `BadAuthority` for another cluster's, or where a file is missing or no PEM.
        """
        paths = directory / "ca.pem", directory / "ca.key"
        authority = cls(cluster, days=days)
        if not any(path.exists() for path in paths):
            authority.write(directory)
            return authority
        authority.certificate, authority._key = _read_pair(*paths)
        if authority.certificate.subject.rfc4514_string() != f"CN={_subject(cluster)}":
            raise BadAuthority(
                f"{paths[0]} is of another cluster; name another directory for '{cluster}'"
            )
        return authority

    def write(self, directory: Path) -> None:
        """Write `ca.pem` and `ca.key`. Raises FileExistsError rather than replace a key."""
        _write_pair(directory, "ca", self.certificate, self._key)

    def issue(
        self, directory: Path, replica: str, *, names: Sequence[str] | None = None
    ) -> TlsFiles:
        """Write certificate and key of a replica; `names` instead of the one it goes by."""
        key = _new_key()
        wanted = [certificate_name(self._cluster, replica)] if names is None else names
        certificate = self._signed(replica, key, wanted)
        _write_pair(directory, replica, certificate, key)
        return TlsFiles(
            directory / f"{replica}.pem", directory / f"{replica}.key", directory / "ca.pem"
        )

    def _signed(
        self, subject: str, key: EllipticCurvePrivateKey, names: Sequence[str] | None
    ) -> Certificate:
        from cryptography import x509
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

        is_authority = names is None
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name if is_authority else self.certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - SLACK)
            .not_valid_after(self._now + timedelta(days=self._days))
            .add_extension(x509.BasicConstraints(is_authority, 0 if is_authority else None), True)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), False
            )
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .add_extension(_usage(is_authority=is_authority), True)
        )
        if names:
            alternatives = x509.SubjectAlternativeName([x509.DNSName(one) for one in names])
            builder = builder.add_extension(alternatives, False)
        if not is_authority:
            both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
            builder = builder.add_extension(x509.ExtendedKeyUsage(both), False)
        return builder.sign(self._key, SHA256())


def _subject(cluster: str) -> str:
    return f"{cluster} development authority"


def _usage(*, is_authority: bool) -> KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )


def _new_key() -> EllipticCurvePrivateKey:
    try:
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise ModuleNotFoundError(
            "certificates are made with cryptography: pip install 'fusee[server]'"
        ) from None
    return ec.generate_private_key(ec.SECP256R1())


def _read_pair(certificate: Path, key: Path) -> tuple[Certificate, EllipticCurvePrivateKey]:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificate

    try:
        found = load_pem_x509_certificate(certificate.read_bytes())
        secret = load_pem_private_key(key.read_bytes(), None)
    except (OSError, ValueError, TypeError) as error:
        raise BadAuthority(
            f"{certificate} and {key} cannot be read as an authority: {error}. Restore them, or"
            " name another directory"
        ) from None
    if not isinstance(secret, EllipticCurvePrivateKey):
        raise BadAuthority(f"{key} was not made by this command; name another directory")
    return found, secret


def _write_pair(
    directory: Path, name: str, certificate: Certificate, key: EllipticCurvePrivateKey
) -> None:
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    directory.mkdir(parents=True, exist_ok=True)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    _write_new(directory / f"{name}.key", secret, 0o600)
    _write_new(directory / f"{name}.pem", certificate.public_bytes(Encoding.PEM), 0o644)


def _write_new(path: Path, data: bytes, mode: int) -> None:
    """Write a file that was not there: a key that is in use is never replaced."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
