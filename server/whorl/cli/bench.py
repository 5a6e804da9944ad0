"""`whorl bench`: the benchmarks of the repository."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from whorl.cli.faults import CommandError, UsageError

# `server/whorl/cli/bench.py` in a checkout; an installed package has no such neighbour.
_BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"

Names = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME]...", help="Workloads, or how their names begin; all by default.")
]
ListOnly = Annotated[bool, typer.Option("--list", help="Show the workloads.")]
Quick = Annotated[bool, typer.Option("--quick/--full", help="Small sizes, ten minutes; or the sizes of the papers.")]
Rounds = Annotated[int, typer.Option("--rounds", min=1, help="Rounds that count; one more warms up.")]
LimitS = Annotated[
    float | None, typer.Option("--limit", metavar="SECONDS", help="The processor time that one run may take.")
]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Where the results go, as JSON.")]
Report = Annotated[Path | None, typer.Option("--report", metavar="PAGE", help="Write a page with tables and plots.")]
From = Annotated[
    list[Path] | None, typer.Option("--from", metavar="FILE", help="Report these results; measure nothing. Repeatable.")
]
Compare = Annotated[
    tuple[Path, Path] | None,
    typer.Option("--compare", metavar="OLD NEW", help="Show what has changed between two files of results."),
]


def command(
    names: Names = None,
    list_only: ListOnly = False,
    quick: Quick = True,
    rounds: Rounds = 5,
    limit_s: LimitS = None,
    out: Out = None,
    report: Report = None,
    results: From = None,
    compare: Compare = None,
) -> None:
    """Measure the engine beside baselines and peers.

    Workloads are files in benchmarks/workloads of the repository, one for each experiment of the papers, and others for
    peers and for single techniques. Answers are compared before anything is measured. With --compare the exit code is 1
    when a figure has become slower by more than its spread, or is gone.

    Examples:
      whorl bench --list
      whorl bench cqels2011 --rounds 7
      whorl bench --quick --out results.json --report docs/performance.md
      whorl bench --compare old.json new.json

    """
    main = _loaded()
    if results and report is None:
        raise UsageError("--from needs --report", hint="say where the page goes: --report docs/performance.md")
    try:
        if list_only:
            typer.echo(main.listed())
        elif compare is not None:
            _compare(main, *compare)
        elif results:
            main.reported(results, report, typer.echo)
        else:
            _measure(main, names or [], quick, rounds, limit_s, out, report)
    except main.InputError as error:
        raise UsageError(str(error)) from None


def _compare(main: Any, old: Path, new: Path) -> None:  # noqa: ANN401 - the package is not there when this is installed
    table, is_slower = main.compared(old, new)
    typer.echo(table)
    raise typer.Exit(int(is_slower))


def _measure(
    main: Any,  # noqa: ANN401 - as above
    names: list[str],
    quick: bool,
    rounds: int,
    limit_s: float | None,
    out: Path | None,
    report: Path | None,
) -> None:
    plan = main.Plan("quick" if quick else "full", rounds, limit_s or (0.1 if quick else 10.0))
    main.measured(names, plan, out, report, typer.echo)


def _loaded() -> Any:  # noqa: ANN401 - as above
    if not (_BENCHMARKS / "whorl_bench").is_dir():
        raise CommandError("benchmarks are part of the repository", hint="run `whorl bench` from a checkout")
    tests = _BENCHMARKS.parent / "tests"
    for path in (_BENCHMARKS, tests / "common", tests / "oracle", tests / "workloads"):
        if str(path) not in sys.path:
            sys.path.insert(0, str(path))
    return importlib.import_module("whorl_bench.main")
