"""Certificate and users of a secure listener: file permissions, and no password on a command line."""

from __future__ import annotations

import ssl
import stat
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509

from harness.cluster import security
from harness.spec.cluster_spec import parse
from harness.spec.topology import plan

PLAN = plan(parse({"name": "s", "racks": "a:1,b:1", "controllers": 1, "users": ["writer", "reader"]}))


def test_secret_files_are_readable_by_their_owner_only_and_made_once(tmp_path: Path) -> None:
    security.provide(tmp_path, PLAN, [])
    made = tmp_path / security.FOLDER
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    kept = {f.name: f.read_bytes() for f in made.iterdir()}
    assert set(kept) == {"store.pem", "trust.pem", "secrets.properties", "writer.properties", "reader.properties"}
    closed = [f.name for f in made.iterdir() if stat.S_IMODE(f.stat().st_mode) == 0o600]
    assert set(kept) - set(closed) == {"trust.pem"}
    security.provide(tmp_path, PLAN, [])
    assert {f.name: f.read_bytes() for f in made.iterdir()} == kept
    ssl.create_default_context(cafile=str(security.trust_file(tmp_path)))


def test_a_command_line_shows_no_password(tmp_path: Path) -> None:
    security.provide(tmp_path, PLAN, [])
    words = {security.password(tmp_path, user) for user in PLAN.spec.users}
    assert len(words) == 2 and all(len(word) >= 20 for word in words)
    shown = " ".join(security.client_properties(tmp_path, "writer").values())
    assert not any(word in shown for word in words) and "writer.properties:sasl.jaas.config}" in shown


def test_without_users_no_secret_is_made(tmp_path: Path) -> None:
    security.provide(tmp_path, plan(parse({"racks": "a:1"})), [])
    assert list(tmp_path.iterdir()) == []


def test_certificate_is_for_the_address_of_each_broker_and_fits_the_key(tmp_path: Path) -> None:
    security.provide(tmp_path, PLAN, [])
    certificate = x509.load_pem_x509_certificate(security.trust_file(tmp_path).read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(a) for a in names.get_values_for_type(x509.IPAddress)] == [n.address for n in PLAN.brokers]
    assert certificate.not_valid_before_utc < datetime.now(UTC) < certificate.not_valid_after_utc
    store = tmp_path / security.FOLDER / "store.pem"
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(store)  # refused where the key is another one's
