"""`rackspan run`: the main job, from the build to the page."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, Literal

import typer

from harness.benchmark import workload
from harness.benchmark.workload import Workload
from harness.cli import report, test_stages
from harness.cli.options import BlockOption, ReportFolderOption, ResultsOption, RoundsOption, WarmupOption
from harness.cli.output import ConsoleProgress, err, out
from harness.cli.stage_list import PLAN, system_tests
from harness.cli.system_packages import BUILD, NETWORKS, install
from harness.cli.test import report_failures, results_folder
from harness.common.errors import Exit
from harness.common.paths import project_root
from harness.distribution.build import build
from harness.network.netns_support import attempt
from harness.spec.cluster_spec import parse

FAR_RACK, PAUSED_FOLLOWER = "far-rack", "paused-follower"
# Of the outage of a trial run: as many nodes and records as its page needs.
TRIAL = {"name": "outage", "racks": "a:2,b:2,c:1", "controllers": 1}
TRIAL_RATE = 30.0
# As many rounds as a verdict needs, which take about as long as those of FAR_RACK.
SHORT_ROUNDS, SHORT_SECONDS, SHORT_WARMUP = 6, 4.0, 15.0


def comparison(no_networks: str) -> Workload:
    """The comparison of acks=min.insync.replicas with acks=all: with one rack far away or, where networks of namespaces
    cannot be had for the reason given, with a follower that is paused.
    """
    if no_networks:
        short = workload.load(PAUSED_FOLLOWER)
        return short.changed(rounds=SHORT_ROUNDS, seconds=SHORT_SECONDS, warmup=SHORT_WARMUP)
    return workload.load(FAR_RACK)


def run(
    to: ReportFolderOption = None,
    results: ResultsOption = None,
    rounds: RoundsOption = None,
    block: BlockOption = None,
    warmup: WarmupOption = None,
    jvm: Annotated[
        Literal["quick", "full"],
        typer.Option(
            metavar="quick|full",
            help="JVM flags of the comparison's nodes: full compiles all code for speed; quick is for a trial run, "
            "whose outage has fewer nodes and records, too.",
        ),
    ] = "full",
) -> None:
    """Build, run the outage plan and the latency comparison on real clusters, and write the report."""
    from harness.benchmark.outage import Stretches, run_outage
    from harness.benchmark.run import run_bench  # here, as every command would wait for what it imports

    progress = ConsoleProgress()
    install([*BUILD, NETWORKS], progress)
    build(progress)
    folder = (results or results_folder()).resolve()
    plan = test_stages.total(test_stages.run([system_tests("outage plan", [PLAN], folder)], folder / "logs", progress))
    no_networks = attempt().skip_reason
    if no_networks:
        progress.note(f"no rack can be far here ({no_networks}): the comparison pauses a follower")
    compared = comparison(no_networks).changed(rounds=rounds, seconds=block, warmup=warmup)
    compared = compared.model_copy(update={"cluster": compared.cluster.model_copy(update={"jvm": jvm})})
    trial: dict[str, Any] = {"spec": parse(TRIAL), "rate": TRIAL_RATE} if jvm == "quick" else {}
    stretches = None if block is None else Stretches(*[block] * 4)
    runs = [
        run_outage(report.runs_folder(), stretches=stretches, progress=progress, **trial),
        run_bench(report.runs_folder(), compared, progress=progress),
    ]
    page = report.write(runs, to or project_root() / "build" / "report", progress)
    reported = json.loads(page.with_name("report.json").read_text(encoding="utf-8"))
    for line in (reported["verdict"]["text"], *reported["headline"], *reported["promises"]):
        err.print(line, markup=False)
    report_failures(folder)
    err.print(f"outage plan: {plan}", markup=False)
    out.print(str(page), markup=False)
    if plan.failed:
        print(f"the outage plan failed; see {folder}", file=sys.stderr)
        raise typer.Exit(Exit.FAILED)
