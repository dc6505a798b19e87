"""Paths, relative to the project's root.

The environment variable KPATCH_BASE, which Gradle's -Pbase sets, chooses another base than the product's: a folder of
kafka-patch/bases. Its patches, work tree and build are apart; our own classes are the same.
"""

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
KAFKA_PATCH = PROJECT / "kafka-patch"
BASE = os.environ.get("KPATCH_BASE", "")
HOME = KAFKA_PATCH / "bases" / BASE if BASE else KAFKA_PATCH
PATCHES = HOME / "patches"
WORK = HOME / "work"
OWN = KAFKA_PATCH / "src" / "main"
BUILD = PROJECT / "build" / "bases" / BASE if BASE else PROJECT / "build"
ARTIFACTS = BUILD / "artifacts.json"
