"""A second listener of every broker, over SASL_SSL with access control: its certificate, its users, and their files.

Everything is made for one cluster, readable by its owner alone, and gone with the cluster's folder. Brokers find their
secrets in a file of their own (Kafka's FileConfigProvider), so that server.properties, which is collected, has none.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from harness.cluster.node import KafkaNode
from harness.cluster.server_properties import FROM_FILES, SECRETS, STORE, to_text
from harness.common.atomic_files import write_aside
from harness.spec.topology import Plan

FOLDER = "secure"
_TRUST = "trust.pem"
_VALID, _CLOCK_SKEW = timedelta(days=30), timedelta(hours=1)
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def provide(folder: Path, plan: Plan, nodes: Sequence[KafkaNode]) -> None:
    """Makes certificate and users of a cluster that requires them, and brings each broker what it needs."""
    if not plan.spec.users:
        return
    place = folder / FOLDER
    if not (place / SECRETS).exists():
        place.mkdir(mode=0o700, exist_ok=True)
        _make(place, plan)
    for node in nodes:
        if node.node.role == "broker":
            for name in (STORE, SECRETS):
                node.host.send(str(place / name), f"{node.host.root}/{name}")


def client_file(folder: Path, user: str) -> Path:
    """The properties with which Kafka's tools and clients enter as that user (`--command-config`)."""
    return folder / FOLDER / f"{user}.properties"


def trust_file(folder: Path) -> Path:
    """The certificate that all brokers show, as PEM."""
    return folder / FOLDER / _TRUST


def password(folder: Path, user: str) -> str:
    """A user's password."""
    return client_file(folder, user).read_text(encoding="utf-8").rpartition('password="')[2].partition('"')[0]


def client_properties(folder: Path, user: str) -> dict[str, str]:
    """Client properties for a command line, which others may see: the password is not in it."""
    file = client_file(folder, user)
    return {
        **_common(folder / FOLDER),
        **FROM_FILES,
        "sasl.jaas.config": f"${{file:{file}:sasl.jaas.config}}",
    }


def _make(place: Path, plan: Plan) -> None:
    words = {user: secrets.token_urlsafe(18) for user in plan.spec.users}
    key, certificate = _certificate([n.address for n in plan.brokers])
    write_aside(place / STORE, key + certificate, 0o600)
    write_aside(place / _TRUST, certificate)
    for user, word in words.items():
        login = f'{_LOGIN} username="{user}" password="{word}";'
        write_aside(client_file(place.parent, user), to_text(_common(place) | {"sasl.jaas.config": login}), 0o600)
    known = " ".join(f'user_{user}="{word}"' for user, word in words.items())
    write_aside(place / SECRETS, to_text({"logins": f"{_LOGIN} {known};"}), 0o600)


def _certificate(addresses: Sequence[str]) -> tuple[str, str]:
    """A private key and its own certificate for these addresses, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "rackspan")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _VALID)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(a)) for a in addresses]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, SHA256())
    )
    # Kafka reads a key of PKCS #8; encrypted ones only of some algorithms, so that the file's mode has to protect it
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private.decode(), certificate.public_bytes(Encoding.PEM).decode()


def _common(place: Path) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(place / _TRUST),
    }
