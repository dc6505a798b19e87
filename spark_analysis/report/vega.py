"""The programs that draw the plots of a page: Vega, Vega-Lite and vega-embed as one script, which the page contains."""

from __future__ import annotations

import contextlib
from importlib import metadata
from pathlib import Path

import vl_convert

from spark_analysis.atomic_files import write_aside

_FOLDER = Path(__file__).parents[2] / "build" / "vega"


def script(folder: Path = _FOLDER) -> str:
    """The script, 0.9 MB. Bundling it takes seconds, so it is kept in the folder if that can be written."""
    kept = folder / f"vega-{metadata.version('vl-convert-python')}.js"
    if kept.exists():
        return kept.read_text(encoding="utf-8")
    bundle = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # without a snippet: all three
    made = bundle.replace("</script", "<\\/script")
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        write_aside(kept, made)
    return made
