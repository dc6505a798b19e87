"""Backends, which supply hosts: one a module, named here."""

from harness.backends.base import Backend
from harness.backends.docker import DockerBackend
from harness.backends.local import LocalBackend
from harness.backends.netns import NetnsBackend
from harness.backends.ssh import SshBackend

BACKENDS: dict[str, type[Backend]] = {
    "local": LocalBackend,
    "netns": NetnsBackend,
    "ssh": SshBackend,
    "docker": DockerBackend,
}
