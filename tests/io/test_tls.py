"""Certificates: what does not serve is refused before it is used, and renewal stops nothing."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import stat
from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("cryptography", reason="cryptography is not for this platform")

from fusee.io.dev_certificates import Authority
from fusee.io.tls import Tls, TlsFiles, TlsRefused
from tests.io.test_peers import group, view
from tests.support.aio import in_loop, until
from tests.wire.groups import replica


@pytest.fixture
def authority(tmp_path):
    made = Authority("orders")
    made.write(tmp_path)
    return made


def test_a_certificate_is_known_by_its_name_and_its_end(authority, tmp_path):
    tls = Tls(authority.issue(tmp_path, "a"))
    assert tls.names == {"a.orders.fusee.internal"}
    in_a_year = datetime.now(UTC) + timedelta(days=365)
    assert abs(tls.expires_at_s - in_a_year.timestamp()) < 60


def test_keys_are_for_their_owner_alone_and_never_replaced(authority, tmp_path):
    files = authority.issue(tmp_path, "a")
    assert stat.S_IMODE(files.key.stat().st_mode) == 0o600
    before = files.key.read_bytes()
    with pytest.raises(FileExistsError):
        authority.issue(tmp_path, "a")
    with pytest.raises(FileExistsError):
        Authority("orders").write(tmp_path)
    assert files.key.read_bytes() == before


def other_authority(files, authority, path):
    other = Authority("orders")
    other.write(path / "other")
    shutil.copy(path / "other" / "ca.pem", files.authority)


def out_of_date(files, authority, path):
    old = Authority("orders", now=datetime.now(UTC) - timedelta(days=400))
    for name in ("ca.pem", "ca.key", "a.pem", "a.key"):
        (path / name).unlink()
    old.write(path)
    old.issue(path, "a")


def other_key(files, authority, path):
    shutil.copy(authority.issue(path, "b").key, files.key)


def half_written(files, authority, path):
    data = files.certificate.read_bytes()
    files.certificate.write_bytes(data[: len(data) // 2])


def no_name(files, authority, path):
    nameless = authority.issue(path, "nameless", names=[])
    shutil.copy(nameless.certificate, files.certificate)
    shutil.copy(nameless.key, files.key)


def gone(files, authority, path):
    files.key.unlink()


SPOILED = {
    other_authority: "signed by",
    out_of_date: "expired",
    other_key: "do not belong together",
    half_written: "no PEM",
    no_name: "subjectAltName",
    gone: "No such file",
}


@pytest.mark.parametrize("spoil", SPOILED)
def test_what_does_not_serve_is_refused_and_says_why(authority, tmp_path, spoil):
    files = authority.issue(tmp_path, "a")
    spoil(files, authority, tmp_path)
    with pytest.raises(TlsRefused, match=SPOILED[spoil]):
        Tls(files)


@pytest.mark.parametrize("spoil", SPOILED)
def test_a_bad_renewal_leaves_the_old_certificate_in_use(authority, tmp_path, spoil):
    files = authority.issue(tmp_path, "a")
    tls = Tls(files)
    calling = tls.calling
    spoil(files, authority, tmp_path)
    with pytest.raises(TlsRefused):
        tls.reload()
    assert tls.calling is calling
    assert tls.reloads == {"rejected": 1}


@in_loop
async def test_replicas_talk_over_tls_and_a_renewal_stops_nothing(tmp_path_factory):
    path = tmp_path_factory.mktemp("certificates")
    authority = Authority("orders")
    authority.write(path)
    own = {name: Tls(authority.issue(path, name)) for name in ("a", "b")}
    async with group(replica("a"), replica("b"), tls=own) as ((a, b), _):
        await until(lambda: bool(a.peers.connected) and bool(b.peers.connected))
        a.peers.send(1, view(1))
        await until(lambda: b.heard == [(0, view(1))])
        for name, tls in own.items():
            renewed = authority.issue(path / "renewed", name)
            shutil.copy(renewed.certificate, path / f"{name}.pem")
            shutil.copy(renewed.key, path / f"{name}.key")
            tls.reload()
        assert not a.went
        b.peers._up[0].abort()  # What is connected anew shows the new one.
        await until(lambda: len(b.came) == 2 and bool(a.peers.connected))
        shown = b.peers._up[0]._transport.get_extra_info("ssl_object").getpeercert()
        assert ssl.cert_time_to_seconds(shown["notAfter"]) == own["a"].expires_at_s
        a.peers.send(1, view(2))
        await until(lambda: b.heard == [(0, view(1)), (0, view(2))])


@pytest.mark.parametrize("stranger", ["other cluster's authority", "other replica", "plain"])
@in_loop
async def test_nobody_gets_in_without_the_right_certificate(tmp_path_factory, stranger):
    path = tmp_path_factory.mktemp("certificates")
    authority = Authority("orders")
    authority.write(path)
    own = {name: Tls(authority.issue(path, name)) for name in ("b", "c")}
    if stranger == "other replica":
        own["a"] = own["c"]
    elif stranger == "plain":
        own["a"] = None
    else:
        other = Authority("orders")
        other.write(path / "other")
        own["a"] = Tls(other.issue(path / "other", "a"))
    async with group(replica("a"), replica("b"), replica("c"), tls=own) as ((a, b, c), _):
        await until(lambda: bool(b.peers.connected) and bool(c.peers.connected))
        for _ in range(200):
            await asyncio.sleep(0)
        if stranger == "other replica":
            await until(lambda: b.peers.refused["index_mismatch"] > 0)
        assert b.came == [2]
        assert c.came == [1]
        assert not a.came


def test_an_encrypted_key_is_refused_at_once(authority, tmp_path):
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        PrivateFormat,
        load_pem_private_key,
    )

    files = authority.issue(tmp_path, "a")
    key = load_pem_private_key(files.key.read_bytes(), None)
    secret = key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
    )
    files.key.write_bytes(secret)
    with pytest.raises(TlsRefused, match="password"):
        Tls(TlsFiles(files.certificate, files.key, files.authority))
