"""Certificate and users of a secure listener: file permissions, and no password on a command line."""

from __future__ import annotations

import ssl
import stat
from pathlib import Path

import pytest

from harness.cluster import security
from harness.common.errors import Exit, RackspanError
from harness.spec.cluster_spec import parse
from harness.spec.topology import plan

PLAN = plan(parse({"name": "s", "racks": "a:1,b:1", "controllers": 1, "users": ["writer", "reader"]}))


def test_secret_files_are_readable_by_their_owner_only_and_made_once(tmp_path: Path) -> None:
    security.provide(tmp_path, PLAN, [])
    made = tmp_path / security.FOLDER
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    kept = {f.name: f.read_bytes() for f in made.iterdir()}
    assert set(kept) == {"store.p12", "trust.pem", "secrets.properties", "writer.properties", "reader.properties"}
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


def test_without_keytool_the_error_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(RackspanError) as e:
        security.provide(tmp_path, PLAN, [])
    assert e.value.code is Exit.ENVIRONMENT
    assert str(e.value) == (
        "cannot make a certificate\n  observed: no keytool on PATH\n  do:       install a JDK, or set JAVA_HOME"
    )
