"""Producers of one run: each has a name of its own."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.benchmark.load_clients import LoadClients
from harness.common.errors import Exit, RackspanError
from harness.load.command import Produce


class _Started(nullcontext[None]):
    """A load client that has started."""

    def wait_line(self, event: str, seconds: float) -> dict[str, Any]:
        return {"event": event, "producer": "p"}


def test_a_second_producer_of_one_name_does_not_write_over_the_records_of_the_first(tmp_path: Path) -> None:
    started: list[Any] = []
    run: Any = SimpleNamespace(logs=tmp_path, event=lambda *others: started.append(others))
    resident: Any = SimpleNamespace(run=lambda args, log: _Started())
    cluster: Any = SimpleNamespace(name="c")
    with ExitStack() as stack:
        load = LoadClients(run, tmp_path, stack, resident)
        load.start(Produce("p", "localhost:1", "t", Path()), cluster)
        with pytest.raises(RackspanError, match="two producers of one run are named p") as caught:
            load.start(Produce("p", "localhost:1", "u", Path()), cluster)
        load.start(Produce("q", "localhost:1", "u", Path()), cluster)
    assert caught.value.code == Exit.USAGE and caught.value.observed == "the first writes to t, this one to u"
    assert len(started) == 2
