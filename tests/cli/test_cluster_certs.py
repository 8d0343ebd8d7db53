"""`fusee cluster certs`: certificates that replicas accept, and no key is ever replaced."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("cryptography", reason="cryptography is not for this platform")

from fusee.io.tls import Tls, TlsFiles


def make(fusee, directory, *replicas, cluster="orders", **options):
    arguments = [f"--{name}={value}" for name, value in options.items()]
    return fusee("cluster", "certs", directory, *replicas, "--cluster", cluster, *arguments)


def test_what_it_makes_serves(fusee, tmp_path):
    result = make(fusee, tmp_path / "certs", "a", "b", output="json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert [row["replica"] for row in document["replicas"]] == ["a", "b"]
    for row in document["replicas"]:
        files = (tmp_path / "certs" / f"{row['replica']}{end}" for end in (".pem", ".key"))
        tls = Tls(TlsFiles(*files, tmp_path / "certs" / "ca.pem"))
        assert tls.names == {row["name"]}


def test_a_later_replica_is_signed_by_the_same_authority(fusee, tmp_path):
    make(fusee, tmp_path, "a")
    before = (tmp_path / "ca.pem").read_bytes()
    assert make(fusee, tmp_path, "d").exit_code == 0
    assert (tmp_path / "ca.pem").read_bytes() == before
    Tls(TlsFiles(tmp_path / "d.pem", tmp_path / "d.key", tmp_path / "ca.pem"))


def test_a_key_is_never_replaced(fusee, tmp_path):
    make(fusee, tmp_path, "a")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    result = make(fusee, tmp_path, "b", "a")
    assert result.exit_code == 5
    assert "a.pem is there already" in result.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("spoil", ["other cluster", "no key", "no PEM"])
def test_an_authority_that_does_not_serve_is_refused(fusee, tmp_path, spoil):
    make(fusee, tmp_path, "a")
    cluster = "orders"
    if spoil == "other cluster":
        cluster = "payments"
    elif spoil == "no key":
        (tmp_path / "ca.key").unlink()
    else:
        (tmp_path / "ca.pem").write_text("nothing")
    result = make(fusee, tmp_path, "b", cluster=cluster)
    assert result.exit_code == 5
    assert "another directory" in result.stderr
    assert not (tmp_path / "b.key").exists()


@pytest.mark.parametrize(
    "replicas", [("A",), ("a.b",), ("ca",), ("a", "a"), ("-a",), tuple("abcdef"), ("ä",), ("",)]
)
def test_names_that_no_certificate_can_carry_are_usage_errors(fusee, tmp_path, replicas):
    result = make(fusee, tmp_path, *replicas)
    assert result.exit_code == 2
    assert list(tmp_path.iterdir()) == []
