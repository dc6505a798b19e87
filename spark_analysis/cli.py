"""Reports on runs and checks them: `python -m spark_analysis VERB`; progress on stderr, results on stdout."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from pathlib import Path
from typing import Any

from spark_analysis.errors import DEFECT, ENVIRONMENT, OK, AnalysisError
from spark_analysis.locations import Location, location
from spark_analysis.progress import timed
from spark_analysis.report import gate_file


def main(argv: list[str] | None = None) -> int:
    """Runs one command; the exit code is 0, 1 (a gate missed, a record lost, an anomaly, a folder skipped), 2 (usage),
    3 (not known), 4 (data that cannot be read, or the environment lacks something) or 5 (a defect of the analysis).
    """
    parser = argparse.ArgumentParser(prog="python -m spark_analysis", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    report = verbs.add_parser("report", help="write one page, report.json, tables and counts from run folders")
    report.add_argument("runs", nargs="+", type=location, metavar="RUN", help="run folder, a path or a URL")
    report.add_argument(
        "--out", required=True, type=location, help="folder for report.html, report.json, tables, counts"
    )
    report.add_argument(
        "--cache", default=None, type=location, help="folder that keeps what was computed for reuse; default: OUT/cache"
    )
    report.add_argument("--master", default=None, help="Spark master; default: the one of spark-submit, else local[*]")
    check = verbs.add_parser(
        "check",
        help="check the fate of every acknowledged record; exit code 1: anomalies, 3: not known, 4: not readable",
    )
    check.add_argument(
        "runs",
        nargs="*",
        type=location,
        metavar="RUN",
        help="run folder, or its URL; default: one per line of stdin",
    )
    check.add_argument("--out", required=True, type=location, help="folder for check.json and check.html")
    check.add_argument(
        "--min-racks", type=int, default=None, help="required racks; default: min.insync.racks of each topic"
    )
    check.add_argument("--master", default=None, help="Spark master; default: the one of spark-submit, else local[*]")
    check_gates = verbs.add_parser("gates", help="check a file of gates; exit code 2 if it is not valid")
    check_gates.add_argument("file", type=Path, metavar="FILE", help="YAML file of gates")
    lost_records = verbs.add_parser(
        "lost",
        help="compare acknowledged records with those that a cluster has now; exit code 1: one is lost, "
        "3: not all could be compared",
    )
    lost_records.add_argument("run", type=location, metavar="RUN", help="run folder")
    lost_records.add_argument(
        "--bootstrap", required=True, metavar="HOST:PORT", help="address of the cluster that the run wrote to"
    )
    lost_records.add_argument(
        "--master", default=None, help="Spark master; default: the one of spark-submit, else local[*]"
    )
    again = verbs.add_parser("recompute", help="write the page of a report again, from the counts beside it alone")
    again.add_argument("counts", type=location, metavar="FOLDER", help="folder of the page, or the folder counts in it")
    again.add_argument("--out", required=True, type=location, help="folder for report.html, report.json, counts")
    for verb in (report, again):
        verb.add_argument(
            "--gate", default=None, type=Path, metavar="FILE", help="YAML file of gates; exit code 1 if one is missed"
        )
    try:
        return _run(parser.parse_args(argv))
    except AnalysisError as e:
        print(e, file=sys.stderr)
        return e.code
    except OSError as e:
        do = "make sure that the folder is there and may be written, and try again"
        error = AnalysisError("a file could not be read or written", observed=str(e), do=do, code=ENVIRONMENT)
        print(error, file=sys.stderr)
        return error.code
    except Exception as e:  # the last resort: whatever it is, it is ours
        traceback.print_exc()
        do = "report it with the lines above"
        error = AnalysisError(
            "this is a defect of the analysis itself", observed=f"{type(e).__name__}: {e}", do=do, code=DEFECT
        )
        print(error, file=sys.stderr)
        return error.code


def _run(options: argparse.Namespace) -> int:
    """Runs the verb. Modules that need Spark, or draw, are imported by the verbs that need them: their import takes a
    while, and `recompute` and `gates` work where Spark is not installed.
    """
    if options.verb == "check":
        from spark_analysis.checker.cli import write_check

        runs = options.runs or (line.strip() for line in sys.stdin if line.strip())
        return write_check(runs, options.out, min_racks=options.min_racks, master=options.master)
    if options.verb == "lost":
        from spark_analysis.lost_records import lost

        return lost(options.run, options.bootstrap, options.master)
    if options.verb == "gates":
        gate_file.load(options.file)
        return OK
    required = options.gate and gate_file.load(options.gate)
    from spark_analysis.report import gates

    if options.verb == "recompute":
        from spark_analysis.recompute import recompute

        page = recompute(options.counts, options.out, timed())
    else:
        from spark_analysis.pipeline import write_report

        page = write_report(options.runs, options.out, options.master, options.cache)
    document = json.loads((options.out / "report.json").read_text())
    outcomes = gates.evaluate(required, document) if required else []
    for line in (*outcomes, page):
        print(line)
    skipped = document["skipped"] if options.verb == "report" else []
    if failure := gates.missed(outcomes, page) or (_incomplete(skipped, page) if skipped else None):
        raise failure
    return OK


def _incomplete(skipped: list[dict[str, Any]], page: Location) -> AnalysisError:
    """The error of a page that lacks some of the folders that were named."""
    return AnalysisError(
        f"{len(skipped)} folder{'' if len(skipped) == 1 else 's'} skipped",
        observed="; ".join(error["what"] for error in skipped),
        do=f"see {page}, which is about the others; correct what was skipped, or report without it",
        code=max(error["code"] for error in skipped),
    )
