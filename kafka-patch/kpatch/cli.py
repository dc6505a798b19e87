"""Command line of the Gradle tasks: `python -m kpatch`."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from pathlib import Path

from kpatch import (
    benchmark,
    changes,
    checks,
    debian,
    dist,
    jars,
    junit,
    maven,
    models,
    paths,
    prefixes,
    series,
    simulation,
    toolchain,
    upstream,
    worktree,
)
from kpatch import compile as compiler
from kpatch.errors import KpatchError


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def sources(up: upstream.Upstream) -> dict[str, Path]:
    """artifact -> its verified official sources jar."""
    return {m.artifact: upstream.official(m.artifact, "sources") for m in up.modules}


def _apply(up: upstream.Upstream, _: argparse.Namespace) -> None:
    print(worktree.apply(up, sources(up)))


def _rebuild(_: upstream.Upstream, __: argparse.Namespace) -> None:
    changed = worktree.rebuild()
    print("\n".join(changed) if changed else "patches are up to date")


def _check(up: upstream.Upstream, args: argparse.Namespace) -> None:
    if findings := checks.check(up, sources(up), args.patches) + checks.licences(paths.KAFKA_PATCH / "src"):
        raise KpatchError(
            f"{len(findings)} finding(s) in patches", "\n  " + "\n  ".join(findings), "\nFix each of them"
        )
    count = len(series.read_series(args.patches))
    print(f"{count} patch(es): strict apply, headers, no context, round trip: ok; licences of our classes: ok")


def _prefixes(up: upstream.Upstream, args: argparse.Namespace) -> None:
    print(f"{prefixes.check(up, sources(up), args.out, _say)} prefixes of the series compile")


def _list(up: upstream.Upstream, _: argparse.Namespace) -> None:
    for name in series.read_series(paths.PATCHES):
        patch = series.parse(name, (paths.PATCHES / name).read_text())
        added, removed = sum(f.added for f in patch.files), sum(f.removed for f in patch.files)
        print(f"{name}\t{patch.trailers.get('Proposal', '')}\t{len(patch.files)} files\t+{added} -{removed}")


def _build(up: upstream.Upstream, args: argparse.Namespace) -> None:
    if args.work:
        tree, out = paths.WORK, paths.BUILD / "dev-classes"
        compiler.compile_tree(tree, out, up, complete=False, progress=_say)
    else:
        tree, out = args.out / "kafka-src", args.out / "kafka-classes"
        _compile_module(up, tree, out)
    folder = dist.assemble(up, "rackspan", args.out / ("dev" if args.work else "dist"), tree, out)
    if not args.work:
        maven.publish(up, folder, tree, args.out / "maven")
        # They are of the archive before; `package` writes them anew.
        for old in (dist.bill(folder), folder.with_name(debian.name(up))):
            for end in ("", ".sha256", ".sha512"):
                old.with_name(old.name + end).unlink(missing_ok=True)
        folder = dist.archive(folder)
    print(folder)


def _package(up: upstream.Upstream, args: argparse.Namespace) -> None:
    from kpatch import sbom  # here, as a build needs no library that is not Python's own

    if paths.BASE:
        raise KpatchError("only the product's base is packaged", f"the base is {paths.BASE}", "Leave -Pbase out")
    folder = args.out / "dist" / dist.name(up, "rackspan")
    if not folder.with_name(folder.name + ".tgz").is_file():
        raise KpatchError("nothing to package", f"{folder.name}.tgz is not in {folder.parent}", "Run: gradle dist")
    bill = sbom.write(up, folder, debian.release(up).time)
    print(bill)
    print(debian.build(up, folder, bill, folder.parent))


def _compile_module(up: upstream.Upstream, tree: Path, out: Path) -> None:
    """Patches and compiles all modules, unless the classes are there and made of the same."""
    mark, inputs = out / "made-of", compiler.inputs()
    if tree.is_dir() and mark.is_file() and mark.read_text() == inputs:
        return
    shutil.rmtree(tree, ignore_errors=True)
    worktree.build(tree, up, sources(up))
    _say(f"sources: {len(up.modules)} modules, {len(series.read_series(paths.PATCHES))} patch(es) applied")
    compiler.compile_tree(tree, out, up, complete=True, progress=_say)
    mark.write_text(inputs)


def _dashboard(_: upstream.Upstream, __: argparse.Namespace) -> None:
    from kpatch import dashboard  # here, as a build would wait for what it imports

    print(dashboard.write())


def _document(up: upstream.Upstream, args: argparse.Namespace) -> None:
    folder = args.out / "dist" / dist.name(up, "rackspan")
    print(maven.document(up, folder, args.out / "kafka-src", args.out / "maven"))


def _stock(up: upstream.Upstream, args: argparse.Namespace) -> None:
    print(dist.archive(dist.assemble(up, "stock", args.out / "dist")))


def _changes(up: upstream.Upstream, args: argparse.Namespace) -> None:
    libs = args.libs or paths.BUILD / "dist" / dist.name(up, "rackspan") / "libs"
    if not libs.is_dir():
        raise KpatchError("nothing to compare", f"{libs} is missing", "Run: gradle dist")
    found = changes.text(up, libs)
    if args.write:
        changes.LIST.write_text(found)
    else:
        changes.check(found)
    print(f"{found.count(chr(10)) - 1} classes differ from the official ones, as listed in {changes.LIST.name}")


def _toolchain(up: upstream.Upstream, args: argparse.Namespace) -> None:
    print(toolchain.report(up, sources(up), args.out, args.only, _say))


def _test(up: upstream.Upstream, args: argparse.Namespace) -> None:
    libs = args.libs or paths.BUILD / "dist" / dist.name(up, "rackspan") / "libs"
    if not libs.is_dir():
        raise KpatchError("nothing to test", f"{libs} is missing", "Run: gradle dist")
    if code := junit.run(libs, args.out, args.classes):
        raise KpatchError("JUnit tests failed", f"exit code {code}", f"See the tree above and {args.out / 'reports'}")


def _simulate(up: upstream.Upstream, args: argparse.Namespace) -> None:
    libs = paths.BUILD / "dist" / dist.name(up, "rackspan") / "libs"
    if not libs.is_dir():
        raise KpatchError("nothing to simulate", f"{libs} is missing", "Run: gradle dist")
    if code := simulation.run(libs, args.out, simulation.seeds(args.seeds), args.perils, args.rules):
        raise KpatchError("the simulation failed", f"exit code {code}", "Read the line or the shortened history above")


def _models(_: upstream.Upstream, args: argparse.Namespace) -> None:
    print(models.run_all(models.select(args.names, args.full), args.out, _say))


def _benchmark(up: upstream.Upstream, args: argparse.Namespace) -> None:
    stock, patched = (paths.BUILD / "dist" / dist.name(up, kind) / "libs" for kind in ("stock", "rackspan"))
    for libs in (stock, patched):
        if not libs.is_dir():
            raise KpatchError("nothing to measure", f"{libs} is missing", "Run: gradle dist stockDist")
    print(benchmark.run(stock, patched, args.out, shlex.split(args.options), args.rounds))


def _load(_: upstream.Upstream, args: argparse.Namespace) -> None:
    sources = sorted((paths.PROJECT / "harness" / "load" / "src" / "main" / "java").rglob("*.java"))
    classes = paths.BUILD / "load" / "classes"
    compiler.compile_strict("the load client", sources, classes, upstream.runtime())
    jars.pack(classes, args.jar)
    print(args.jar)


def _old_client(_: upstream.Upstream, __: argparse.Namespace) -> None:
    _lay_out("oldclient", paths.BUILD / "clients" / "java-3" / "libs")


def _spark_connector(_: upstream.Upstream, __: argparse.Namespace) -> None:
    _lay_out("sparkkafka", paths.BUILD / "clients" / "spark-kafka")


def _object_store(_: upstream.Upstream, __: argparse.Namespace) -> None:
    _lay_out("objectstore", paths.BUILD / "object-store")


def _lay_out(role: str, target: Path) -> None:
    new = target.with_name(f"{target.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    for artifact in upstream.artifacts(role):
        shutil.copyfile(artifact.file, new / artifact.file.name)
    shutil.rmtree(target, ignore_errors=True)
    new.rename(target)
    print(target)


def main(argv: list[str] | None = None) -> int:
    """Parses arguments, runs one command; 0 ok, 1 failed, 2 usage."""
    parser = argparse.ArgumentParser(prog="kpatch", description=__doc__)
    commands = parser.add_subparsers(required=True)

    def command(verb: str, run: object, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(verb, help=text)
        sub.set_defaults(run=run)
        return sub

    command("apply", _apply, "make the work tree: base and one commit per patch")
    command("rebuild", _rebuild, "write the work tree's commits to the patch folder")
    command("check", _check, "check the patch folder: strict apply, headers, no context, round trip").add_argument(
        "--patches", type=Path, default=paths.PATCHES
    )
    command("prefixes", _prefixes, "compile each prefix of the series").add_argument(
        "--out", type=Path, default=paths.BUILD / "prefixes"
    )
    command("list", _list, "patches with proposal, files and size")
    build = command("build", _build, "compile and assemble the rackspan distribution")
    build.add_argument("--work", action="store_true", help="from the work tree, only touched files, no archive")
    build.add_argument("--out", type=Path, default=paths.BUILD)
    command("package", _package, "write the Debian package and the bill of materials beside the archive").add_argument(
        "--out", type=Path, default=paths.BUILD
    )
    command("dashboard", _dashboard, "write the Grafana dashboard that ships")
    command("document", _document, "add the documentation of the client to the Maven repository").add_argument(
        "--out", type=Path, default=paths.BUILD
    )
    command("stock", _stock, "assemble the unpatched distribution").add_argument(
        "--out", type=Path, default=paths.BUILD
    )
    change = command("changes", _changes, "compare the built jars with the official ones and with the list of changes")
    change.add_argument("--libs", type=Path, help="folder of jars (default: the rackspan distribution's)")
    change.add_argument("--write", action="store_true", help="write the list instead")
    chain = command("toolchain", _toolchain, "compare unpatched sources, compiled here, with the official classes")
    chain.add_argument("--out", type=Path, default=paths.BUILD / "toolchain")
    chain.add_argument("--only", action="append", default=[], metavar="ARTIFACT")
    test = command("test", _test, "run our JUnit tests, or the named upstream classes, on a distribution's jars")
    test.add_argument("--libs", type=Path, help="folder of jars (default: the rackspan distribution's)")
    test.add_argument("--out", type=Path, default=paths.BUILD / "junit")
    test.add_argument("classes", nargs="*")
    simulate = command("simulate", _simulate, "play seeded histories of a simulated cluster")
    simulate.add_argument("--out", type=Path, default=paths.BUILD / "simulation")
    simulate.add_argument("--seeds", default="1000", help="FROM..TO, or their number")
    simulate.add_argument("--perils", default="", help="names with commas, in place of the default ones")
    simulate.add_argument("--rules", default="", help="rules to knock out, names with commas; each: one after another")
    model = command("models", _models, "check the TLA+ models")
    model.add_argument("--out", type=Path, default=paths.BUILD / "models")
    model.add_argument("--full", action="store_true", help="the long checks, too")
    model.add_argument("names", nargs="*", help="checks of models.toml (default: all)")
    bench = command("benchmark", _benchmark, "run JMH on the official jars and on the patched ones")
    bench.add_argument("--out", type=Path, default=paths.BUILD / "benchmark")
    bench.add_argument("--rounds", type=int, default=benchmark.ENOUGH, help="number of rounds, each with both variants")
    bench.add_argument("--options", default="", help="for JMH, as '-f 1 -p replicas=3 LeaderBenchmark'")
    command("load", _load, "compile the load client").add_argument(
        "--jar", type=Path, default=paths.BUILD / "load" / "rackspan-load.jar"
    )
    command("old-client", _old_client, "lay out the jars of the previous Java client")
    command("spark-connector", _spark_connector, "lay out the jars of Spark's Kafka source and sink")
    command("object-store", _object_store, "lay out the jars with which Spark reads object stores")
    args = parser.parse_args(argv)
    try:
        args.run(upstream.load(), args)
    except KpatchError as e:
        print(f"kpatch: {e}", file=sys.stderr)
        return 1
    return 0
