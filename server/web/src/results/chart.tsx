/** The chart that a result asks for by itself: bars for the first few of an order, else lines over time by category. */
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clock } from "../parts/format";
import { numberOf, shown, shownNumber, type Prefixes } from "../rdf/terms";
import { colour, seriesColour, theme } from "../theme";
import { isTopK, type Results, type Series } from "./model";

const BARS_MAX = 20;

export function Chart({ results, prefixes, version }: { results: Results; prefixes: Prefixes; version: number }) {
  const names = results.values;
  const [chosen, choose] = useState<string | null>(null);
  const name = chosen !== null && names.includes(chosen) ? chosen : names[0];
  if (name === undefined) return <p class="empty">These results have no numeric column to plot.</p>;
  return (
    <div class="chart">
      {names.length > 1 && (
        <div class="choices" role="group" aria-label="Value to plot">
          {names.map((one) => (
            <button type="button" key={one} class={one === name ? "chip on" : "chip"} aria-pressed={one === name} onClick={() => choose(one)}>
              {one}
            </button>
          ))}
        </div>
      )}
      {isTopK(results.text) && results.rows.length > 0 ? (
        <Bars results={results} name={name} prefixes={prefixes} />
      ) : (
        <Lines key={`${name} ${theme.value}`} series={[...(results.series.get(name)?.values() ?? [])]} version={version} />
      )}
    </div>
  );
}

function Bars({ results, name, prefixes }: { results: Results; name: string; prefixes: Prefixes }) {
  const rows = results.rows.slice(0, BARS_MAX);
  const most = Math.max(...rows.map((row) => Math.abs(numberOf(row.mapping[name]) ?? 0)), Number.MIN_VALUE);
  return (
    <div class="bars-frame">
    <p class="bars-head"><span>{results.labels.join(" · ")}</span><span>{name}</span></p>
    <ol class="bars">
      {rows.map((row, at) => {
        const value = numberOf(row.mapping[name]) ?? 0;
        return (
          <li key={row.id}>
            <span class="bar-label" title={results.labelOf(row.mapping, (term) => shown(term, prefixes))}>
              {results.labelOf(row.mapping, (term) => shown(term, prefixes)) || `${at + 1}`}
            </span>
            <span class="bar-track"><span class="bar" style={{ width: `${(100 * Math.abs(value)) / most}%` }} /></span>
            <span class="bar-value">{shownNumber(String(row.mapping[name]?.value ?? ""))}</span>
          </li>
        );
      })}
    </ol>
    </div>
  );
}

function Lines({ series, version }: { series: Series[]; version: number }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const labels = series.map((one) => one.label).join("\n");

  useEffect(() => {
    const host = place.current;
    if (host === null || series.length === 0) return undefined;
    const made = new uPlot(options(series, host), data(series), host);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize(size(host)));
    observer.observe(host);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [labels]);
  useEffect(() => plot.current?.setData(data(series)), [version]);

  if (series.length === 0) return <p class="empty">The chart starts with the next result.</p>;
  return (
    <>
      <div class="plot" ref={place} data-points={series.reduce((sum, one) => sum + one.points.size, 0)} />
      <Legend series={series} />
    </>
  );
}

/** What each line is, with its newest value. */
function Legend({ series }: { series: Series[] }) {
  return (
    <ul class="legend" aria-label="Lines of the chart, with their newest values">
      {series.map((one, at) => (
        <li key={one.label}><span class="key" style={{ background: seriesColour(at) }} />{one.label} <strong>{newest(one)}</strong></li>
      ))}
    </ul>
  );
}

function newest({ points, lastAt }: Series): string {
  const value = points.get(lastAt);
  return value === undefined ? "" : shownNumber(String(value));
}

const size = (host: HTMLElement) => ({ width: Math.max(200, host.clientWidth), height: Math.max(180, host.clientHeight) });

function data(series: Series[]): uPlot.AlignedData {
  const instants = [...new Set(series.flatMap((one) => [...one.points.keys()]))].sort((a, b) => a - b);
  return [instants.map((t) => t / 1000), ...series.map((one) => instants.map((t) => one.points.get(t) ?? null))];
}

function options(series: Series[], host: HTMLElement): uPlot.Options {
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
  return {
    ...size(host),
    // The last label of the axis is wider than what is right of its tick.
    padding: [14, 34, 4, 4],
    cursor: { points: { size: 6 } },
    legend: { show: false },
    scales: { x: { time: true } },
    axes: [{ ...axis, size: 30, values: (_, ticks) => ticks.map((t) => clock(t * 1000)), space: 90 }, { ...axis, size: 56 }],
    series: [
      { label: "time", value: (_, t: number | null) => (t === null ? "–" : clock(t * 1000)) },
      ...series.map((one, at) => ({
        label: one.label,
        stroke: seriesColour(at),
        width: 1.75,
        spanGaps: true,
        points: { show: one.points.size < 40, size: 4 },
        value: (_: uPlot, value: number | null) => (value === null ? "–" : shownNumber(String(value))),
      })),
    ],
  };
}
