"""Finding Kafka distributions that the build has unpacked."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.common.errors import environment_error
from harness.common.paths import project_root

KINDS = ("rackspan", "stock")


@dataclass(frozen=True)
class Distribution:
    """An unpacked distribution: bin/, config/, libs/."""

    home: Path

    def script(self, name: str) -> str:
        """Path of bin/NAME."""
        return str(self.home / "bin" / name)

    @property
    def version(self) -> str:
        """The folder's name, such as stock-kafka_2.13-4.3.1."""
        return self.home.name

    @property
    def patches(self) -> list[str]:
        """Names of its patches in order, from rackspan.json; none in a distribution that has no such file."""
        file = self.home / "rackspan.json"
        return list(json.loads(file.read_text(encoding="utf-8")).get("patches", [])) if file.is_file() else []

    @cached_property
    def digest(self) -> str:
        """A digest of all files but logs, 12 hexadecimal digits: two builds that differ have different ones."""
        found = hashlib.sha256()
        logs = self.home / "logs"
        for path in sorted(p for p in self.home.rglob("*") if p.is_file() and not p.is_relative_to(logs)):
            found.update(f"{path.relative_to(self.home)}\0{path.stat().st_mode & 0o100:o}\0".encode())
            with path.open("rb") as f:
                found.update(hashlib.file_digest(f, "sha256").digest())
        return found.hexdigest()[:12]

    @property
    def metrics_agent(self) -> Path | None:
        """The JMX exporter's agent jar, if the distribution has one."""
        return next(iter(sorted((self.home / "libs").glob("jmx_prometheus_javaagent-*.jar"))), None)

    @property
    def metrics_rules(self) -> Path:
        """The JMX exporter's rules."""
        return self.home / "config" / "jmx-exporter.yml"


def find(distribution: str, built: Path | None = None) -> Distribution:
    """The newest built distribution of a kind (rackspan, stock), or the one at a path.

    Raises RackspanError (exit code 4).
    """
    built = built or project_root() / "build" / "dist"
    if distribution in KINDS:
        homes = [p for p in built.glob(f"{distribution}-kafka_*") if (p / "libs").is_dir()]
        if not homes:
            raise environment_error(
                f"distribution {distribution} not found",
                observed=f"no folder {distribution}-kafka_* in {built}",
                do="build it with `./rackspan build`",
            )
        home = max(homes, key=lambda p: [int(n) for n in re.findall(r"\d+", p.name)])
    else:
        home = Path(distribution).resolve()
    missing = [
        name for name in ("bin/kafka-server-start.sh", "bin/kafka-storage.sh", "libs") if not (home / name).exists()
    ]
    if missing:
        raise environment_error(
            f"{home} is not a usable distribution",
            observed=f"{', '.join(missing)} missing",
            do="build it again with `./rackspan build`, or name rackspan, stock or the folder of an unpacked one",
        )
    return Distribution(home)
