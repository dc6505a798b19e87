"""The second attempt of a class of upstream's tests: when there is one, and that its outcome is remembered."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.common.progress import Progress
from harness.distribution.locate import find
from harness.upstream_tests.classes import Selection, artifacts
from harness.upstream_tests.junit import FAILED, PASSED, ClassResult, JvmRun
from harness.upstream_tests.variants import Variant
from harness.upstream_tests.verify import ClassBatch, verify

pytestmark = pytest.mark.usefixtures("brief_jvms")
SELECTION = Selection((), {"default": 300.0}, {}, {})
KERBEROS = "org.apache.kafka.common.security.kerberos.KerberosNameTest"


def variants(folder: Path) -> tuple[Variant, Variant]:
    tests = artifacts("test", "junit", "kerberos")
    return Variant("stock", find("stock"), tests, folder), Variant("patched", find("rackspan"), tests, folder)


def test_what_does_not_end_has_a_second_attempt(tmp_path: Path) -> None:
    stock, patched = variants(tmp_path)
    first, last = verify(stock, patched, [ClassBatch((KERBEROS,), 0.0)], SELECTION, Progress())
    assert first == [] and [(v.name, v.errors, v.failure) for v in last] == [(KERBEROS, [], "")]
    assert last[0].stock.tests == last[0].patched.tests == (stock.known(KERBEROS) or ClassResult()).tests
    for variant in (stock, patched):
        variant.forget([KERBEROS])
    hopeless = Selection((), {"default": 0.0}, {}, {})
    (_, (comparison,)) = verify(stock, patched, [ClassBatch((KERBEROS,), 0.0)], hopeless, Progress())
    assert comparison.failure == "stock: no end in 0 s" and stock.known(KERBEROS) is None


class Passing:
    """In place of a JVM: every class has two tests, which pass."""

    def __init__(self, classes: list[str]) -> None:
        self._classes = classes

    def outcomes(self, seconds: float) -> dict[str, ClassResult]:
        return {name: ClassResult({"parses": PASSED, "compares": PASSED}, 1.0) for name in self._classes}

    def end(self) -> None:
        """Nothing runs."""


def test_a_second_attempt_is_remembered_until_the_first_one_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Variant, "run", lambda variant, classes, label: Passing(classes))
    stock, patched = variants(tmp_path)
    wanted = [ClassBatch((KERBEROS,), 300.0)]
    list(verify(stock, patched, wanted, SELECTION, Progress()))
    good = patched.known(KERBEROS)
    assert good is not None and set(good.tests.values()) == {PASSED}
    broken = "parses"
    patched.keep(KERBEROS, ClassResult(good.tests | {broken: FAILED}, 1.0))
    first, last = verify(stock, patched, wanted, SELECTION, Progress())
    assert first == [] and [(c.again, c.errors) for c in last] == [((broken,), [])]

    def refuse(variant: Variant, classes: list[str], label: str) -> JvmRun:
        raise AssertionError(f"{variant.name} runs {classes}")

    monkeypatch.setattr(Variant, "run", refuse)
    ((once_more,),) = verify(stock, patched, wanted, SELECTION, Progress())
    assert (once_more.again, once_more.errors) == ((broken,), [])
    patched.keep(KERBEROS, ClassResult(good.tests | {broken: FAILED}, 1.0))
    with pytest.raises(AssertionError, match="patched runs"):
        list(verify(stock, patched, wanted, SELECTION, Progress()))
