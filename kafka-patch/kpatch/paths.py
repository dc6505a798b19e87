"""Where things are, relative to the project's root."""

from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
KAFKA_PATCH = PROJECT / "kafka-patch"
PATCHES = KAFKA_PATCH / "patches"
WORK = KAFKA_PATCH / "work"
OWN = KAFKA_PATCH / "src" / "main"
BUILD = PROJECT / "build"
ARTIFACTS = BUILD / "artifacts.json"
