"""A second listener of every broker, over SASL_SSL with access control: its certificate, its users, and their files.

Everything is made for one cluster, readable by its owner alone, and gone with the cluster's folder. Brokers find their
secrets in a file of their own (Kafka's FileConfigProvider), so that server.properties, which is collected, has none.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness.cluster.node import KafkaNode
from harness.cluster.server_properties import FROM_FILES, SECRETS, STORE, to_text
from harness.common.atomic_files import write_aside
from harness.common.errors import RackspanError, environment_error
from harness.hosts.host import last_lines
from harness.spec.topology import Plan

FOLDER = "secure"
_TRUST = "trust.pem"
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def provide(folder: Path, plan: Plan, nodes: Sequence[KafkaNode]) -> None:
    """Makes certificate and users of a cluster that requires them, and brings each broker what it needs.

    Raises RackspanError (exit code 4 without keytool).
    """
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
    """The same for a command line, which others may see: the password is not in it."""
    file = client_file(folder, user)
    return {
        **_common(folder / FOLDER),
        **FROM_FILES,
        "sasl.jaas.config": f"${{file:{file}:sasl.jaas.config}}",
    }


def _make(place: Path, plan: Plan) -> None:
    words = {user: secrets.token_urlsafe(18) for user in plan.spec.users}
    store = secrets.token_urlsafe(18)
    names = ",".join(f"ip:{n.address}" for n in plan.brokers)
    made = place / f"{STORE}.part"
    made.unlink(missing_ok=True)
    key = ["-genkeypair", "-alias", "broker", "-keyalg", "EC", "-groupname", "secp256r1", "-validity", "30"]
    _keytool([*key, "-dname", "CN=rackspan", "-ext", f"san={names}", "-storetype", "PKCS12"], made, store)
    trust = _keytool(["-exportcert", "-rfc", "-alias", "broker"], made, store)
    made.chmod(0o600)
    made.rename(place / STORE)
    write_aside(place / _TRUST, trust)
    for user, word in words.items():
        login = f'{_LOGIN} username="{user}" password="{word}";'
        write_aside(client_file(place.parent, user), to_text(_common(place) | {"sasl.jaas.config": login}), 0o600)
    known = " ".join(f'user_{user}="{word}"' for user, word in words.items())
    write_aside(place / SECRETS, to_text({"store": store, "logins": f"{_LOGIN} {known};"}), 0o600)


def _common(place: Path) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(place / _TRUST),
    }


def _keytool(command: Sequence[str], store: Path, password: str) -> str:
    """What keytool prints. The password goes by the environment: a command line is everybody's to read."""
    home = os.environ.get("JAVA_HOME")
    program = f"{home}/bin/keytool" if home else shutil.which("keytool")
    if program is None:
        raise environment_error(
            "cannot make a certificate", observed="no keytool on PATH", do="install a JDK, or set JAVA_HOME"
        )
    done = subprocess.run(
        [program, *command, "-keystore", str(store), "-storepass:env", "WORD"],
        env={**os.environ, "WORD": password},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RackspanError(
            "cannot make a certificate",
            observed=last_lines(done.stdout + done.stderr),
            do="see whether the JDK is complete",
        )
    return done.stdout
