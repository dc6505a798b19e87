"""The settings of server.properties that a distribution knows, and which of them are defaults of the cluster."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping

from harness.common.errors import environment_error, usage_error
from harness.common.jvm_flags import QUICK
from harness.common.validation import unknown
from harness.distribution.locate import Distribution

CLUSTER_WIDE = "cluster-wide"
# Of these server.properties count once at most, when storage is formatted.
ONLY_AS_DEFAULT = frozenset(
    {
        "min.insync.replicas",
        "min.insync.racks",
        "min.insync.racks.strict.placement",
        "min.insync.replicas.inconsistent.action",
        "acks.all.scope",
    }
)
_FOR_ONE_LISTENER = "listener.name."
_ENTRY = re.compile(r'id="brokerconfigs_([^"]+)".*?<th>Update Mode:</th><td>([^<]*)</td>', re.S)


def known_settings(distribution: Distribution) -> dict[str, str]:
    """Names of settings with their update mode (read-only, per-broker, cluster-wide), as the distribution has them.

    Raises RackspanError (exit code 4).
    """
    command = [distribution.script("kafka-run-class.sh"), "kafka.server.KafkaConfig"]
    brief = os.environ | {"KAFKA_JVM_PERFORMANCE_OPTS": " ".join(QUICK)}
    ran = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, env=brief)
    found = dict(_ENTRY.findall(ran.stdout))
    if ran.returncode or not found:
        raise environment_error(
            f"cannot read the settings that {distribution.version} knows",
            observed=ran.stderr.strip()[-500:] or f"exit code {ran.returncode}, and no settings printed",
            do="build it again with `./rackspan build`",
        )
    return found


def cluster_defaults(settings: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """The settings that all brokers share, and that are in force only, or safely, as a default of the cluster.

    Raises RackspanError (exit code 2) that names every unknown setting, and the nearest known one.
    """
    bad = [
        unknown(n, list(known), "setting") for n in settings if n not in known and not n.startswith(_FOR_ONE_LISTENER)
    ]
    if bad:
        raise usage_error(
            "unknown settings",
            observed="; ".join(bad),
            do="correct the names; what a plugin of the brokers reads goes under `broker` in a cluster spec",
        )
    return {name: value for name, value in settings.items() if known.get(name) == CLUSTER_WIDE}
