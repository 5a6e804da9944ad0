"""`whorl bench`: the benchmarks of the repository."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from whorl.cli.faults import CommandError, UsageError

# In a checkout, the folder beside `server`; an installed package has none.
_BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"

Names = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME]...", help="Workloads, by name or prefix; default: all.")
]
ListOnly = Annotated[bool, typer.Option("--list", help="Show the workloads.")]
Quick = Annotated[bool, typer.Option("--quick/--full", help="Small sizes, ten minutes; or the sizes of the papers.")]
Rounds = Annotated[int, typer.Option("--rounds", min=1, help="Measured rounds, after one to warm up.")]
LimitS = Annotated[float | None, typer.Option("--limit", metavar="SECONDS", help="Processor time limit of one run.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the results to this file, as JSON.")]
Report = Annotated[Path | None, typer.Option("--report", metavar="PAGE", help="Write a page with tables and plots.")]
From = Annotated[
    list[Path] | None, typer.Option("--from", metavar="FILE", help="Report these results; measure nothing. Repeatable.")
]
Compare = Annotated[
    tuple[Path, Path] | None,
    typer.Option("--compare", metavar="OLD NEW", help="Show what has changed between two files of results."),
]


def command(  # noqa: PLR0913 - each option is a parameter
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
    """Benchmark the engine against baselines and other engines.

    Workloads are files in benchmarks/workloads of the repository: one for each experiment of the papers, and others for
    other engines and single techniques. Results are compared before anything is measured. With --compare, the exit code
    is 1 if a measurement is missing or has become slower by more than its spread.

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
            plan = main.Plan("quick" if quick else "full", rounds, limit_s or (0.1 if quick else 10.0))
            main.measured(names or [], plan, out, report, typer.echo)
    except main.InputError as error:
        raise UsageError(str(error)) from None


def _compare(main: Any, old: Path, new: Path) -> None:  # noqa: ANN401 - the package does not exist in an installation
    table, is_slower = main.compared(old, new)
    typer.echo(table)
    raise typer.Exit(int(is_slower))


def _loaded() -> Any:  # noqa: ANN401 - as above
    if not (_BENCHMARKS / "whorl_bench").is_dir():
        raise CommandError("benchmarks are part of the repository", hint="run `whorl bench` from a checkout")
    tests = _BENCHMARKS.parent / "tests"
    for path in (_BENCHMARKS, tests / "common", tests / "oracle", tests / "workloads"):
        if str(path) not in sys.path:
            sys.path.insert(0, str(path))
    return importlib.import_module("whorl_bench.main")
