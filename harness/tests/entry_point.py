"""The image's entry point in folders of its own, up to the start of the server, which is a script that prints its
settings here: that needs no engine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from harness.common.paths import project_root
from harness.distribution.locate import find

SOURCE = project_root() / "kafka-patch" / "dist" / "docker"
SERVER = '#!/bin/sh\necho "id=$CLUSTER_ID" "$KAFKA_LOG4J_OPTS"\ncat "$1"\n'


class Container:
    """The folders of a container, and its entry point with them."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "kafka"
        kafka = find("rackspan").home
        shutil.copytree(kafka / "bin", self.home / "bin")
        shutil.copytree(SOURCE, self.home / "docker")
        for name in ("config", "libs"):
            (self.home / name).symlink_to(kafka / name)
        (self.home / "bin" / "kafka-server-start.sh").write_text(SERVER)
        self.places = {name: folder / name.lower() for name in ("SETTINGS", "MOUNTED", "SECRETS", "DATA")}
        for place in ("MOUNTED", "SECRETS"):
            self.places[place].mkdir()

    def __getitem__(self, place: str) -> Path:
        return self.places[place]

    def start(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        places = {f"RACKSPAN_{name}": str(place) for name, place in self.places.items()}
        java = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
        entry = [str(self.home / "docker" / "entrypoint.sh"), *command]
        return subprocess.run(entry, env={**java, **places, **variables}, capture_output=True, text=True)

    def settings(self, **variables: str) -> dict[str, str]:
        """The settings that the server is started with."""
        done = self.start(**variables)
        assert done.returncode == 0, done.stderr
        found = (self["SETTINGS"] / "server.properties").read_text()
        return dict(line.split("=", 1) for line in found.splitlines() if "=" in line and not line.startswith("#"))

    def health(self) -> str:
        """The reason why the node is not healthy; "" if it is."""
        env = {"PATH": os.environ["PATH"], "RACKSPAN_SETTINGS": str(self["SETTINGS"])}
        done = subprocess.run([self.home / "docker" / "healthcheck.sh"], env=env, capture_output=True, text=True)
        assert (done.returncode == 0) == (done.stderr == ""), done
        return done.stderr
