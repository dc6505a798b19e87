"""Reports on runs and checks them: `python -m spark_analysis VERB`; progress on stderr, results on stdout."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from spark_analysis.atomic_files import write_aside
from spark_analysis.checker.cli import write_check
from spark_analysis.errors import FAILED, OK, AnalysisError
from spark_analysis.input.cache import Cache
from spark_analysis.lost_records import lost
from spark_analysis.pipeline import analyse, finite, plain, write_tables
from spark_analysis.report import gate_file, gates
from spark_analysis.report.document import build
from spark_analysis.report.markdown import summary
from spark_analysis.report.render import page, pictures


def main(argv: list[str] | None = None) -> int:
    """Runs one command; the exit code is 0, 1 (no run could be read, a gate missed, a record lost) or 2 (usage)."""
    parser = argparse.ArgumentParser(prog="python -m spark_analysis", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    report = verbs.add_parser("report", help="write one page, report.json and tables from run folders")
    report.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folder")
    report.add_argument("--out", required=True, type=Path, help="folder for report.html, report.json and tables/")
    report.add_argument(
        "--cache", default=None, type=Path, help="folder that keeps what was computed for reuse; default: OUT/cache"
    )
    report.add_argument("--master", default=None, help="Spark master; default: the one of spark-submit, else local[*]")
    check = verbs.add_parser(
        "check",
        help="check the fate of every acknowledged record; exit code 1: anomalies, 3: something was not read",
    )
    check.add_argument("runs", nargs="*", type=Path, metavar="RUN", help="run folder; default: one per line of stdin")
    check.add_argument("--out", required=True, type=Path, help="folder for check.json and check.html")
    check.add_argument(
        "--min-racks", type=int, default=None, help="required racks; default: min.insync.racks of each topic"
    )
    check.add_argument("--master", default=None, help="Spark master; default: the one of spark-submit, else local[*]")
    report.add_argument(
        "--gate", default=None, type=Path, metavar="FILE", help="YAML file of gates; exit code 1 if one is missed"
    )
    check_gates = verbs.add_parser("gates", help="check a file of gates; exit code 2 if it is not valid")
    check_gates.add_argument("file", type=Path, metavar="FILE", help="YAML file of gates")
    lost_records = verbs.add_parser(
        "lost", help="compare acknowledged records with those that a cluster has now; exit code 1 if one is lost"
    )
    lost_records.add_argument("run", type=Path, metavar="RUN", help="run folder")
    lost_records.add_argument(
        "--bootstrap", required=True, metavar="HOST:PORT", help="address of the cluster that the run wrote to"
    )
    lost_records.add_argument(
        "--master", default=None, help="Spark master; default: the one of spark-submit, else local[*]"
    )
    options = parser.parse_args(argv)
    try:
        if options.verb == "check":
            runs = options.runs or (Path(line.strip()) for line in sys.stdin if line.strip())
            return write_check(runs, options.out, min_racks=options.min_racks, master=options.master)
        if options.verb == "lost":
            return lost(options.run, options.bootstrap, options.master)
        if options.verb == "gates":
            gate_file.load(options.file)
            return OK
        required = options.gate and gate_file.load(options.gate)
        page = write_report(options.runs, options.out, options.master, options.cache)
        outcomes = gates.evaluate(required, json.loads((options.out / "report.json").read_text())) if required else []
        for line in (*outcomes, page):
            print(line)
        if failure := gates.missed(outcomes, page):
            raise failure
    except AnalysisError as e:
        print(e, file=sys.stderr)
        return e.code
    return OK


def write_report(paths: list[Path], out: Path, master: str | None = None, cache: Path | None = None) -> Path:
    """Writes the report of the runs into ``out`` and returns the page's path; a bad folder is named and skipped."""
    started = time.monotonic()

    def report(text: str) -> None:
        print(f"[{time.monotonic() - started:5.1f} s] {text}", file=sys.stderr, flush=True)

    done = analyse(paths, Cache(cache or out / "cache", report), master, report)
    if not done.entries:
        raise AnalysisError(
            "no report made",
            observed=f"none of {len(paths)} folder{'' if len(paths) == 1 else 's'} could be read",
            do="see the lines above; give folders made by a run",
            code=FAILED,
        )
    document = plain(build([entry.part for entry in done.entries], done.skipped, done.work))
    out.mkdir(parents=True, exist_ok=True)
    number = write_tables(done.entries, out / "tables")
    report(f"{number} tables; computed {len(done.work['computed'])} runs, reused {len(done.work['reused'])}")
    write_aside(out / "report.json", json.dumps(finite(document), indent=1, allow_nan=False) + "\n")
    report("drawing")
    (out / "pictures").mkdir(exist_ok=True)
    for name, svg in pictures(document).items():
        write_aside(out / "pictures" / name, svg)
    write_aside(out / "report.md", summary(document))
    write_aside(out / "report.html", page(document))
    report("done")
    return out / "report.html"
