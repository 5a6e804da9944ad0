"""The page with all figures: `docs/performance.md` and its plots, generated from results and workloads."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from whorl_bench.figures import COUNTED, METRICS
from whorl_bench.goals import growth, reached
from whorl_bench.plots import Chart, Series, number
from whorl_bench.results import ContestantResult, PointResult, Results, WorkloadResult
from whorl_bench.workload import Workload

PAPERS = {
    "003": "Le-Phuoc, Dao-Tran, Parreira, Hauswirth: A native and adaptive approach for unified processing of linked "
    "streams and linked data (2011)",
    "000/002": "Operator-aware approach for boosting performance in processing RDF streams (2016)",
    "001": "Le-Phuoc, Dao-Tran et al.: RDF stream processing with CQELS framework for real-time analysis (DEBS 2015)",
    "004": "Gillani, Picard, Laforest: Continuous graph pattern matching over knowledge graph streams (2016)",
}
# If a round measured fewer events, the table shows their number.
_FEW_EVENTS = 10
# Sections without a paper, by the first word of a workload's name.
OTHERS = {"cqels2016": "More of Table 1 [000/002]", "peers": "Peers", "ablation": "Ablations"}


def write(results: Results, workloads: Sequence[Workload], page: Path) -> None:
    """The page, and its plots in a folder of the same name."""
    plots = page.with_suffix("")
    plots.mkdir(parents=True, exist_ok=True)
    for old in plots.glob("*.svg"):
        old.unlink()
    for workload in workloads:
        drawing = _drawing(workload, results.of(workload.name))
        if drawing is not None:
            (plots / f"{workload.name}.svg").write_text(drawing, encoding="utf-8")
    page.write_text("\n".join(_lines(results, workloads, plots)) + "\n", encoding="utf-8")


def _lines(results: Results, workloads: Sequence[Workload], plots: Path) -> Iterator[str]:
    yield from _head(results)
    yield from _overview(results, [one for paper in PAPERS for one in workloads if one.paper == paper])
    yield from _growth(results, workloads)
    for paper, title in PAPERS.items():
        chosen = [workload for workload in workloads if workload.paper == paper]
        yield from _sections(f"{title} [{paper}]", results, chosen, plots)
    for prefix, title in OTHERS.items():
        chosen = [one for one in workloads if not one.paper and one.name.startswith(prefix)]
        yield from _sections(title, results, chosen, plots)


def _head(results: Results) -> Iterator[str]:
    machine = results.machine
    libraries = ", ".join(f"{name} {version}" for name, version in machine["libraries"].items())
    libraries += f", Java: {machine.get('java', 'unknown')}"
    yield "# Performance"
    yield ""
    yield "<!-- Made by `whorl bench --report`; changes by hand are lost. -->"
    yield ""
    yield (
        "Every experiment of the papers that Whorl builds on, repeated on one machine: the paper's figure, ours, and "
        "where it can be had that of a baseline or a peer, measured in turn in the same run."
    )
    yield ""
    yield f"- **Machine**: {machine['processor']}, {machine['cores']} cores, {machine['system']}"
    yield f"- **Software**: commit `{machine['commit']}`, engine profile {machine['engine']}, {libraries}"
    if machine["engine"] != "release":
        yield (
            "- **Not what users install**: the library was not built with the release profile, so that its figures are "
            "several times worse than they should be; programs on encoded values have the bench profile"
        )
    loads = [one.load for one in results.workloads] or [0.0]
    yield (
        f"- **Run**: {results.at}, size `{results.size}`, {results.rounds} rounds after one that warms up, "
        f"{results.seconds:.0f} s; a run takes at most {results.limit_s:g} s of processor time; load "
        f"{min(loads):.1f}–{max(loads):.1f}"
    )
    for part in results.parts:
        least, most = part["load"]
        yield (
            f"- **Part**: {part['at']}, {part['processor']}, commit `{part['commit']}`, engine profile "
            f"{part['engine']}, limit {part['limit_s']:g} s, load {least:.1f}–{most:.1f}: "
            f"{', '.join(part['workloads'])}"
        )
    yield "- **Again**: `make bench-quick` for this page, `make bench` for the sizes of the papers"
    yield ""
    yield (
        "Figures are medians of the rounds, with the least and the most in brackets; times are processor time of the "
        "thread unless a delay is named, which is wall time. The papers' machines are ten years older and their "
        "engines are in Java: a ratio to the paper says how far the figure has moved, a ratio to the baseline what "
        "incremental evaluation is worth. Answers are compared first: the engine with the outside oracle at every "
        "evaluation, every other contestant with the engine. A point whose answers differ has no figure."
    )
    yield ""


def _overview(results: Results, workloads: Sequence[Workload]) -> Iterator[str]:
    yield "## All experiments"
    yield ""
    yield f"{len(workloads)} experiments. The ratio says how many times better Whorl is; below 1 it is worse."
    yield ""
    yield "| paper | figure | experiment | paper's figure | ours | ratio to the paper | ratio to the baseline | goal |"
    yield "|---|---|---|---|---|---|---|---|"
    for workload in workloads:
        yield _overview_row(workload, results.of(workload.name))
    yield ""


def _overview_row(workload: Workload, result: WorkloadResult | None) -> str:
    link = f"[{workload.title}](#{workload.name})"
    begin = f"| {workload.paper} | {workload.figure} | {link} |"
    points = _measured(result)
    if not points or not workload.contestants:
        reason = " ".join((workload.gap or _reason(workload, result)).split())
        return f"{begin} {_paper_range(workload)} | {reason} | – | – | – |"
    ours = [point.contestants[_own(workload)].median for point in points]
    unit = METRICS[workload.metric].unit
    to_paper = [ratio for point in points if (ratio := _to_paper(workload, point)) is not None]
    to_baseline = [ratio for point in points if (ratio := _to_baseline(workload, point)) is not None]
    goals = "; ".join(str(goal) for goal in reached(workload, result)) or "–"
    ratios = f"{_times(to_paper)} | {_times(to_baseline)}"
    return f"{begin} {_paper_range(workload)} | {_range(ours)} {unit} | {ratios} | {goals} |"


def _measured(result: WorkloadResult | None) -> list[PointResult]:
    """Points at which the first contestant has a figure."""
    if result is None:
        return []
    return [point for point in result.points if point.contestants and not next(iter(point.contestants.values())).absent]


def _reason(workload: Workload, result: WorkloadResult | None) -> str:
    if result is None:
        return f"not in this run: `whorl bench {workload.name}`"
    said = [point.absent for point in result.points if point.absent]
    said += [one.absent for point in result.points for one in point.contestants.values() if one.absent]
    return said[0] if said else "no point in this size"


def _own(workload: Workload) -> str:
    return workload.contestants[0].name


def _paper_range(workload: Workload) -> str:
    values = [next(iter(point.paper.values())) for point in workload.points if point.paper]
    return f"{_range(values)} {METRICS[workload.metric].unit}" if values else workload.shape or "–"


def _range(values: Sequence[float]) -> str:
    least, most = _number(min(values)), _number(max(values))
    return least if least == most else f"{least} – {most}"


def _times(ratios: Sequence[float]) -> str:
    return f"{_range(ratios)}×" if ratios else "–"


def _to_paper(workload: Workload, point: PointResult) -> float | None:
    known = next((one for one in workload.points if one.label == point.label), None)
    if known is None or not known.paper:
        return None
    return _better(workload, next(iter(known.paper.values())), point.contestants[_own(workload)].median)


def _to_baseline(workload: Workload, point: PointResult) -> float | None:
    """The first baseline or other engine that has a figure."""
    for entry in workload.contestants[1:]:
        other = point.contestants.get(entry.name)
        if entry.is_peer and other is not None and not other.absent:
            return _better(workload, other.median, point.contestants[_own(workload)].median)
    return None


def _better(workload: Workload, other: float, ours: float) -> float | None:
    if other <= 0 or ours <= 0:
        return None
    return other / ours if METRICS[workload.metric].is_cost else ours / other


def _growth(results: Results, workloads: Sequence[Workload]) -> Iterator[str]:
    """Growth: how the cost depends on a numeric axis."""
    rows = [row for workload in workloads if (row := _growth_row(workload, results.of(workload.name)))]
    if not rows:
        return
    yield "## Growth"
    yield ""
    yield (
        "How the figure moves along the axis of each experiment, from its first point to its last, and the exponent by "
        "which the cost grows: 0 is flat, 1 is linear."
    )
    yield ""
    yield "| experiment | axis | from | to | figure | exponent | in the paper |"
    yield "|---|---|---|---|---|---|---|"
    yield from rows
    yield ""


def _growth_row(workload: Workload, result: WorkloadResult | None) -> str | None:
    known = [(number(point.label), point) for point in _measured(result)]
    points = [(at, point.label, point.contestants[_own(workload)].median) for at, point in known if at]
    if len(points) < 2 or not workload.axis:
        return None
    (_, first, y0), (_, last, y1) = points[0], points[-1]
    exponent = growth(workload, result) or 0.0
    moved = f"{_number(y0)} → {_number(y1)} {METRICS[workload.metric].unit}"
    name = f"[{workload.figure or workload.name}](#{workload.name})"
    return f"| {name} | {workload.axis} | {first} | {last} | {moved} | {exponent:+.2f} | {workload.shape or '–'} |"


def _sections(title: str, results: Results, workloads: Sequence[Workload], plots: Path) -> Iterator[str]:
    if not workloads:
        return
    yield f"## {title}"
    yield ""
    for workload in workloads:
        yield from _section(workload, results.of(workload.name), plots)


def _section(workload: Workload, result: WorkloadResult | None, plots: Path) -> Iterator[str]:
    heading = f"{workload.figure}: {workload.title}" if workload.figure else workload.title
    yield f"### {workload.name}"
    yield ""
    yield f"**{heading}**"
    yield ""
    shape = f"**In the paper**: {workload.shape}." if workload.shape else ""
    difference = f"**Here it is different**: {workload.difference}" if workload.difference else ""
    for text in (workload.about, shape, difference, workload.gap):
        if text:
            yield " ".join(text.split())
            yield ""
    if result is not None:
        yield from _table(workload, result)
        yield from _details(workload, result)
        for goal in reached(workload, result):
            yield f"**Goal**: {goal}."
            yield ""
        if (plots / f"{workload.name}.svg").exists():
            yield f"![{heading}]({plots.name}/{workload.name}.svg)"
            yield ""
    if workload.profile:
        yield f"**What bounds it**: {' '.join(workload.profile.split())}"
        yield ""
    yield f"`whorl bench {workload.name}`"
    yield ""


def _table(workload: Workload, result: WorkloadResult) -> Iterator[str]:
    points = result.points
    names = [entry.name for entry in workload.contestants]
    papers = list(dict.fromkeys(name for point in workload.points for name in point.paper))
    heads = [workload.axis or "point", *(f"paper: {name}" for name in papers), *names, "ratios", "checked"]
    yield f"In {METRICS[workload.metric].unit}:"
    yield ""
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    known = {point.label: point.paper for point in workload.points}
    for point in points:
        said = known.get(point.label, {})
        cells = [point.label, *(_number(said[name]) if name in said else "–" for name in papers)]
        if point.absent:
            cells += [point.absent, *[""] * len(names), "–"]
        else:
            cells += [_cell(workload, point.contestants.get(name)) for name in names]
            cells += [_ratios(workload, point), _check(point)]
        yield f"| {' | '.join(cells)} |"
    yield ""


def _details(workload: Workload, result: WorkloadResult) -> Iterator[str]:
    """Wall time, memory and counted work, as medians of the rounds."""
    rows = [
        f"| {point.label} | {entry.name} | {_detail(point.contestants[entry.name])} |"
        for point in result.points
        for entry in workload.contestants
        if entry.name in point.contestants and point.contestants[entry.name].runs
    ]
    if not rows:
        return
    axis = workload.axis or "point"
    heads = ["contestant", "events a round", "CPU µs/event", "wall µs/event", "memory growth MB", *COUNTED]
    yield f"| {axis} | {' | '.join(heads)} |"
    yield f"|{'---|' * (len(heads) + 1)}"
    yield from rows
    yield ""


def _detail(one: ContestantResult) -> str:
    def median(key: str, unit: float, *, per_event: bool) -> str:
        return _number(
            statistics.median(run[key] / unit / (max(run["events"], 1) if per_event else 1) for run in one.runs)
        )

    times = [median(key, 1e3, per_event=True) for key in ("cpu_ns", "wall_ns")]
    counted = [
        _number(statistics.median(map(count, one.runs))) if count(one.runs[0]) else "–" for count in COUNTED.values()
    ]
    memory = median("rss_bytes", 1e6, per_event=False)
    return " | ".join([median("events", 1, per_event=False), *times, memory, *counted])


def _cell(workload: Workload, one: ContestantResult | None) -> str:
    if one is None or one.absent:
        return one.absent if one else "–"
    text = f"{_number(one.median)} [{_number(one.least)}–{_number(one.most)}]"
    fewest = min(run["events"] for run in one.runs)
    if fewest < _FEW_EVENTS:
        text += f" ({fewest} event{'s' if fewest > 1 else ''} a round)"
    if workload.metric == "delay_ms":
        text += f"; p99 {_number(one.delay_ms('p99'))}, most {_number(one.delay_ms('max'))}"
    return text


def _ratios(workload: Workload, point: PointResult) -> str:
    own = point.contestants.get(_own(workload))
    if own is None or own.absent:
        return "–"
    parts = []
    if (paper := _to_paper(workload, point)) is not None:
        parts.append(f"paper {_number(paper)}×")
    for entry in workload.contestants[1:]:
        other = point.contestants.get(entry.name)
        if other is not None and not other.absent and (ratio := _better(workload, other.median, own.median)):
            parts.append(f"{entry.name} {_number(ratio)}×")
    return ", ".join(parts) or "–"


def _check(point: PointResult) -> str:
    if "checksum" in point.check:
        count = point.check.get("programs", 0)
        return f"{count} programs, same checksum" if count > 1 else "alone: no other program to compare with"
    if "events" in point.check:
        return f"{point.check['events']} events, {point.check['solutions']} solutions"
    return "–"


def _drawing(workload: Workload, result: WorkloadResult | None) -> str | None:
    points = [] if result is None else [point for point in result.points if not point.absent]
    if len(points) < 2:
        return None
    labels = [point.label for point in points]
    papers = list(dict.fromkeys(name for point in workload.points for name in point.paper))
    known = {point.label: point.paper for point in workload.points}
    series = [Series(f"paper: {name}", {label: known[label].get(name, 0) for label in labels}) for name in papers]
    for entry in workload.contestants:
        values = {
            point.label: point.contestants[entry.name].median for point in points if entry.name in point.contestants
        }
        series.append(Series(entry.name, values))
    shown = [one for one in series if any(value > 0 for value in one.values.values())]
    return Chart(workload.title, METRICS[workload.metric].unit, workload.axis, labels, shown).svg()


def _number(value: float) -> str:
    """Three significant digits."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"
