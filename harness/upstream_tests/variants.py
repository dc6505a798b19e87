"""A variant of the comparison: a distribution's jars with upstream's tests, and their known outcomes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, fields
from functools import cached_property
from pathlib import Path

from harness.common.atomic_files import write_aside
from harness.distribution.locate import Distribution
from harness.upstream_tests.classes import Artifact
from harness.upstream_tests.junit import ClassResult, JvmRun


class Variant:
    """One distribution. Outcomes are kept in a folder named after what its jars and the tests' jars hold."""

    def __init__(
        self, name: str, distribution: Distribution, tests: Iterable[Artifact], store: Path, front: Path | None = None
    ) -> None:
        """``front`` is a jar whose classes stand in for those of the distribution."""
        self.name = name
        self.distribution = distribution
        self._front = [front] if front else []
        self._tests = list(tests)
        self._store = store

    @cached_property
    def path(self) -> list[Path]:
        """The class path: the jar in front, jars of the distribution, then those of the tests."""
        libs = sorted((self.distribution.home / "libs").glob("*.jar"))
        jars = [p for p in libs if "javaagent" not in p.name]
        # Several test jars hold a log4j2.yaml; tests that read what was logged need that of kafka_2.13.
        own = sorted(self._tests, key=lambda a: a.name != "kafka_2.13")
        return [*self._front, *jars, *dict.fromkeys(a.file for a in own)]

    @cached_property
    def digest(self) -> str:
        """Digest of the class path, as 16 hexadecimal digits."""
        found = hashlib.sha256()
        for jar in self.path[: -len(self._tests)]:
            with jar.open("rb") as f:
                found.update(f"{jar.name} {hashlib.file_digest(f, 'sha256').hexdigest()}\n".encode())
        for artifact in sorted(self._tests, key=lambda a: a.sha256):
            found.update(artifact.sha256.encode())
        return found.hexdigest()[:16]

    def known(self, name: str, *, again: bool = False) -> ClassResult | None:
        """The outcome of a class on these very jars, or that of its second attempt, if it was run and its JVM ended
        well; none where the file is of another version of this program.
        """
        file = self._file(name, again)
        data = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        return ClassResult(**data) if data.keys() == {f.name for f in fields(ClassResult)} else None

    def keep(self, name: str, outcome: ClassResult, *, again: bool = False) -> None:
        """Remembers the outcome of a class, in place of all before, or that of its second attempt beside the first."""
        if not again:
            self.forget([name])
        write_aside(self._file(name, again), json.dumps(asdict(outcome), indent=1) + "\n")

    def forget(self, names: Iterable[str]) -> None:
        """Forgets the outcomes of classes."""
        for name in names:
            for again in (False, True):
                self._file(name, again).unlink(missing_ok=True)

    def run(self, classes: list[str], label: str) -> JvmRun:
        """Starts a JVM for some classes."""
        return JvmRun(self.path, classes, self._store / "jvm" / f"{self.name}-{label}")

    def _file(self, name: str, again: bool) -> Path:
        return self._store / self.digest / f"{name}{'.again' if again else ''}.json"
