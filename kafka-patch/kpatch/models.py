"""`gradle models`: TLC on the models of kafka-patch/models, each check against what models.toml expects of it."""

from __future__ import annotations

import os
import re
import subprocess
import time
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kpatch import compile as compiler
from kpatch import paths, upstream
from kpatch.errors import KpatchError

FOLDER = paths.KAFKA_PATCH / "models"
TABLE = FOLDER / "models.toml"
_WRAPPER = "Check"
_LIMIT = 600.0  # seconds of a quick check, on a busy machine
_FULL_LIMIT = 3 * 3600.0
# Names of the counts in ElectableSet.tla; a check names those that are not 0.
_COUNTS = ("Crashes", "PowerCuts", "Fencings", "Moves", "Reassignments", "LevelChanges", "Changes")


@dataclass(frozen=True)
class Check:
    """One run of TLC: bounds, the rules that are knocked out, and what must come of it.

    Either `violates` names the invariant or property that must fail, or all must hold in `states` states or more.
    """

    name: str
    about: str
    racks: tuple[int, ...]
    placements: tuple[tuple[int, ...], ...]
    records: int
    epochs: int
    counts: Mapping[str, int]
    level: int
    electable: tuple[int, ...]
    knocked: tuple[str, ...]
    holds: tuple[str, ...]
    live: tuple[str, ...]
    violates: str
    states: int
    full: bool


@dataclass(frozen=True)
class Result:
    """The outcome of a run that TLC completed: its states, and the first violation with its trace."""

    distinct: int
    depth: int
    violated: str = ""
    trace: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)


def load(file: Path = TABLE) -> list[Check]:
    """The checks of the table. Raises KpatchError for an entry with an unknown, a missing or a contradictory key."""
    raw = tomllib.loads(file.read_text(encoding="utf-8"))
    checks = [_check(raw.get("defaults", {}) | entry, file.name) for entry in raw["check"]]
    names = [check.name for check in checks]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise KpatchError("two checks have one name", ", ".join(twice), f"Rename one of them in {file.name}")
    return checks


_KEYS = {"name", "about", "racks", "placements", "records", "epochs", "level", "electable", "knocked", "holds", "live"}
_KEYS |= {"violates", "states", "full", *_COUNTS}


def _check(entry: Mapping[str, object], file: str) -> Check:
    name = str(entry.get("name", "a check without a name"))
    if unknown := sorted(entry.keys() - _KEYS):
        raise KpatchError(f"{file}: {name}", f"unknown keys: {', '.join(unknown)}", "Correct or remove them")
    if missing := sorted({"name", "about", "records", "epochs", "holds"} - entry.keys()):
        raise KpatchError(f"{file}: {name}", f"missing keys: {', '.join(missing)}", "Add them")
    if bool(entry.get("violates")) == bool(entry.get("states")):
        observed = "it must have either `violates` or `states`"
        raise KpatchError(f"{file}: {name}", observed, "State what must fail, or the least number of states")
    made = Check(
        name=name,
        about=str(entry["about"]),
        racks=tuple(entry.get("racks", (1, 2, 3))),  # type: ignore[arg-type]
        placements=tuple(map(tuple, entry.get("placements", ()))),  # type: ignore[call-overload]
        records=int(str(entry["records"])),
        epochs=int(str(entry["epochs"])),
        counts={key: int(str(entry.get(key, 0))) for key in _COUNTS},
        level=int(str(entry.get("level", 2))),
        electable=tuple(entry.get("electable", ())),  # type: ignore[arg-type]
        knocked=tuple(entry.get("knocked", ())),  # type: ignore[arg-type]
        holds=tuple(entry["holds"]),  # type: ignore[arg-type]
        live=tuple(entry.get("live", ())),  # type: ignore[arg-type]
        violates=str(entry.get("violates", "")),
        states=int(str(entry.get("states", 0))),
        full=bool(entry.get("full", False)),
    )
    if unknown_rules := sorted(set(made.knocked) - rules()):
        raise KpatchError(f"{file}: {name}", f"no rule {', '.join(unknown_rules)}", "Name one that a module calls On()")
    return made


def select(names: Collection[str], full: bool) -> list[Check]:
    """The named checks; without names the quick ones, or with `full` all. Raises KpatchError for an unknown name."""
    checks = load()
    if unknown := sorted(set(names) - {check.name for check in checks}):
        known = ", ".join(check.name for check in checks)
        raise KpatchError(f"no check {', '.join(unknown)}", f"checks: {known}", "Name one of them")
    return [check for check in checks if (check.name in names if names else full or not check.full)]


def rules() -> set[str]:
    """The rules that can be knocked out: those that the modules ask for by name."""
    return {rule for file in FOLDER.glob("*.tla") for rule in re.findall(r'On\("([^"]+)"\)', file.read_text())}


def _names(check: Check) -> list[str]:
    return [f"n{i}" for i in range(1, len(check.racks) + 1)]


def _set(brokers: Iterable[int]) -> str:
    return f"{{{', '.join(f'n{i}' for i in brokers)}}}"


def wrapper(check: Check) -> str:
    """The module that gives the constants their values."""
    names = _names(check)
    placements = [_set(placement) for placement in check.placements] or [_set(range(1, len(names) + 1))]
    racks = " @@ ".join(f"{name} :> {rack}" for name, rack in zip(names, check.racks, strict=True))
    without = ", ".join(f'"{rule}"' for rule in check.knocked)
    return (
        f"---- MODULE {_WRAPPER} ----\nEXTENDS ElectableSet\nCONSTANTS {', '.join(names)}\nRacks == {racks}\n"
        f"Sets == {{{', '.join(placements)}}}\nFirst == [replicas |-> {placements[0]}, leader |-> {names[0]}, "
        f"e |-> {_set(check.electable)}, level |-> {check.level}]\nWithout == {{{without}}}\n====\n"
    )


def config(check: Check) -> str:
    """The configuration of TLC."""
    names = _names(check)
    values: dict[str, object] = {name: name for name in names}
    values |= {"None": "None", "Replicas": f"{{{', '.join(names)}}}", "MinReplicas": 2, "MinRacks": 2}
    values |= {"Records": check.records, "Epochs": check.epochs, **check.counts}
    values["Proposals"] = '"useful"' if check.live else '"any"'
    lines = ["CONSTANTS", *(f"  {name} = {value}" for name, value in values.items())]
    lines += ["  RackOf <- Racks", "  Placements <- Sets", "  Start <- First", "  Knocked <- Without"]
    # TLC cannot check a liveness property under a symmetry.
    lines += ["SPECIFICATION FairSpec"] if check.live else ["SPECIFICATION Spec", "SYMMETRY Symmetry"]
    lines += [f"INVARIANT {name}" for name in check.holds] + [f"PROPERTY {name}" for name in check.live]
    return "\n".join(lines) + "\n"


def run(check: Check, out: Path) -> Result:
    """Runs TLC on one check below `out`; raises KpatchError if it did not complete."""
    folder = out / re.sub(r"\W+", "-", check.name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{_WRAPPER}.tla").write_text(wrapper(check), encoding="utf-8")
    (folder / f"{_WRAPPER}.cfg").write_text(config(check), encoding="utf-8")
    log = folder / "tlc.log"
    # A quick check is over before a second compiler would pay.
    java = [
        compiler.tools().java,
        "-Xmx1500m",
        "-XX:+UseSerialGC",
        *([] if check.full else ["-XX:TieredStopAtLevel=1"]),
    ]
    path = os.pathsep.join(str(a.file) for a in upstream.artifacts("tlc"))
    # TLC unpacks its own modules into the folder for temporary files: two runs at a time must not share it.
    command = [*java, f"-Djava.io.tmpdir={folder}", f"-DTLA-Library={FOLDER}", "-cp", path, "tlc2.TLC"]
    command += ["-workers", "1", "-deadlock", "-nowarning"]
    command += ["-lncheck", "final"] if check.live else []
    command += ["-cleanup", "-metadir", str(folder / "states"), _WRAPPER]
    begin = time.monotonic()
    limit = _FULL_LIMIT if check.full else _LIMIT
    with log.open("w", encoding="utf-8") as output:
        try:
            subprocess.run(
                command,
                cwd=folder,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=limit,
                check=False,
                preexec_fn=partial(os.nice, 10),
            )
        except subprocess.TimeoutExpired as e:
            raise KpatchError(f"model {check.name}", f"not over after {limit:.0f} s", f"See {log}") from e
    return parse(check, log.read_text(encoding="utf-8", errors="replace"), log, time.monotonic() - begin)


def parse(check: Check, text: str, log: Path, seconds: float = 0.0) -> Result:
    """The result in TLC's output; raises KpatchError if it has none, as after an error in a module."""
    states = re.findall(r"^\d+ states generated, (\d+) distinct states found", text, re.MULTILINE)
    depth = re.findall(r"^The depth of the complete state graph search is (\d+)", text, re.MULTILINE)
    trace = tuple(re.findall(r"^State \d+: <(\w+)", text, re.MULTILINE))
    violated = re.search(r"^Error: Invariant (\w+) is violated", text, re.MULTILINE)
    if violated and states:
        return Result(int(states[-1]), len(trace), violated[1], trace, seconds)
    if "Error: Temporal properties were violated" in text and states:
        return Result(int(states[-1]), len(trace), " or ".join(check.live), trace, seconds)
    if "Model checking completed. No error has been found." in text and states and depth:
        return Result(int(states[-1]), int(depth[-1]), seconds=seconds)
    errors = re.search(r"^(\*\*\*Parse Error\*\*\*|Error:|Semantic errors:|\*\*\* Errors:)", text, re.MULTILINE)
    observed = text[errors.start() :][:1500].strip() if errors else (text[-600:].strip() or "no output")
    raise KpatchError(f"model {check.name}: TLC did not complete", observed, f"See {log}")


def verify(check: Check, result: Result) -> None:
    """Compares a result with what is expected of the check; raises KpatchError where it differs."""
    what = f"model {check.name}"
    if check.violates:
        if result.violated != check.violates:
            observed = f"{result.violated or 'nothing'} is violated, {check.violates} should be"
            without = f"Without {', '.join(check.knocked)}" if check.knocked else "With these bounds"
            raise KpatchError(what, observed, f"{without} the model must fail: correct the model or its bounds")
    elif result.violated:
        observed = f"{result.violated} is violated after {' '.join(result.trace)}"
        raise KpatchError(what, observed, "Correct the design or the model")
    elif result.distinct < check.states:
        observed = f"{result.distinct} distinct states, expected at least {check.states}"
        raise KpatchError(what, observed, "Something that should happen no longer can: correct the model")


def run_all(checks: Iterable[Check], out: Path, say: Callable[[str], None]) -> str:
    """Runs and verifies all checks; returns a table of them. Raises KpatchError that names each failure."""
    rows = ["| check | result | distinct states | depth | seconds |", "| --- | --- | ---: | ---: | ---: |"]
    failures = []
    for check in checks:
        try:
            result = run(check, out)
            verify(check, result)
        except KpatchError as e:
            failures.append(str(e))
            say(str(e))
            continue
        found = f"{result.violated} is violated" if result.violated else "no error"
        rows.append(f"| {check.name} | {found} | {result.distinct:,} | {result.depth} | {result.seconds:.0f} |")
        say(rows[-1])
    if failures:
        raise KpatchError(
            f"{len(failures)} model check(s) failed", "\n  ".join(["", *failures]), "Correct each of them"
        )
    return "\n".join(rows)
