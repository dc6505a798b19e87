"""The numbers of the protocol that a page names are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.common.paths import project_root

PAGE = "docs/reference/proposals.md"
PROTOCOL = "kafka-patch/src/main/kafka-clients/java/io/rackspan/protocol"
ERRORS = "kafka-patch/patches"


@pytest.mark.parametrize(
    ("source", "number", "sentence"),
    [
        (f"{PROTOCOL}/KnownErrors.java", r" TAG = (\d+);", "a tagged field of ProduceRequest ({}) declares"),
        (f"{PROTOCOL}/MinInSync.java", r" REPLICAS_TAG = (\d+);", "({}: `min_insync_replicas`"),
        (f"{PROTOCOL}/MinInSync.java", r" RACKS_TAG = (\d+);", ", {}: `min_insync_racks`"),
        (f"{ERRORS}/min-insync-racks.patch", r"NOT_ENOUGH_RACKS\((\d+),", "| codes {} and "),
        (f"{ERRORS}/min-insync-racks.patch", r"NOT_ENOUGH_RACKS_AFTER_APPEND\((\d+),", "and {}; clients that do not"),
    ],
)
def test_the_page_has_the_number_of_the_code(source: str, number: str, sentence: str) -> None:
    found = re.search(number, (project_root() / source).read_text(encoding="utf-8"))
    assert found, f"{source} has no {number}"
    assert sentence.format(found[1]) in Path(project_root() / PAGE).read_text(encoding="utf-8")
