/** Places on earth, drawn without tiles: a grid of degrees, points, and arcs where a row goes from one place to another. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Mapping } from "../api/types";
import { numberOf, shown, type Prefixes } from "../rdf/terms";
import { coordinatesOf, type CoordinatePair, type Results } from "./model";

const EDGE = 46;
const ROWS_MAX = 300;

interface Point {
  x: number;
  y: number;
}

/** Pixels of the drawing, which fills its place: so letters have the size of all others. */
interface Size {
  width: number;
  height: number;
}

interface Frame extends Size {
  west: number;
  north: number;
  /** Pixels for a degree of latitude and of longitude. */
  tall: number;
  wide: number;
}

interface Properties {
  results: Results;
  prefixes: Prefixes;
}

export function Places({ results, prefixes }: Properties) {
  const pairs = coordinatesOf(results.variables);
  const hasPlaces = results.rows.slice(0, ROWS_MAX).some((row) => pairs.some((pair) => degrees(row.mapping, pair) !== null));
  return hasPlaces ? <Drawing results={results} prefixes={prefixes} /> : <p class="empty">The current result has no coordinates.</p>;
}

function Drawing({ results, prefixes }: Properties) {
  const [place, size] = useSize();
  const pairs = coordinatesOf(results.variables);
  const rows = results.rows.slice(0, ROWS_MAX);
  const frame = frameOf(rows.flatMap((row) => pairs.map((pair) => degrees(row.mapping, pair))), size);
  const [value] = results.values;
  const most = Math.max(1, ...rows.map((row) => numberOf(row.mapping[value ?? ""]) ?? 1));
  return (
    <div class="graph-frame" ref={place}>
      <svg class="map" viewBox={`0 0 ${size.width} ${size.height}`} role="img" aria-label={`${rows.length} rows on a map`}>
        <Grid frame={frame} />
        {rows.map((row) => (
          <Mark
            key={row.id}
            points={pairs.map((pair) => at(frame, degrees(row.mapping, pair)))}
            share={(numberOf(row.mapping[value ?? ""]) ?? 1) / most}
            title={results.variables.map((name) => `${name}: ${shown(row.mapping[name], prefixes)}`).join("\n")}
          />
        ))}
      </svg>
      <p class="map-key">{pairs.length > 1 ? "○ from → ● to" : "● place"}{value !== undefined && <> · size: {value}</>}</p>
    </div>
  );
}

function useSize(): [{ current: HTMLDivElement | null }, Size] {
  const place = useRef<HTMLDivElement>(null);
  const [size, resize] = useState<Size>({ width: 640, height: 480 });
  useEffect(() => {
    const host = place.current;
    if (host === null) return undefined;
    const observer = new ResizeObserver(() => resize({ width: Math.max(240, host.clientWidth), height: Math.max(240, host.clientHeight) }));
    observer.observe(host);
    return () => observer.disconnect();
  }, []);
  return [place, size];
}

function Mark({ points, share, title }: { points: (Point | null)[]; share: number; title: string }) {
  const [from, to] = points;
  const size = 4 + 9 * Math.sqrt(share);
  if (!from) return null;
  if (!to) return <circle class="place" cx={from.x} cy={from.y} r={size}><title>{title}</title></circle>;
  const bend = 0.22;
  const middle = { x: (from.x + to.x) / 2 - (to.y - from.y) * bend, y: (from.y + to.y) / 2 + (to.x - from.x) * bend };
  return (
    <g class="trip">
      <title>{title}</title>
      <path d={`M${from.x} ${from.y}Q${middle.x} ${middle.y} ${to.x} ${to.y}`} style={{ strokeWidth: `${1.2 + 5 * share}px` }} />
      <circle class="start" cx={from.x} cy={from.y} r="3.5" />
      <circle class="place" cx={to.x} cy={to.y} r={3 + 4 * share} />
    </g>
  );
}

function Grid({ frame }: { frame: Frame }) {
  const { width, height } = frame;
  const step = stepOf(width / frame.wide);
  const lines = (from: number, to: number): number[] => {
    const first = Math.ceil(from / step);
    return Array.from({ length: Math.max(0, Math.floor(to / step) - first + 1) }, (_, at) => (first + at) * step);
  };
  const digits = Math.max(0, Math.ceil(-Math.log10(step)));
  return (
    <g class="degrees">
      {lines(frame.west, frame.west + width / frame.wide).map((lon) => (
        <g key={`lon ${lon}`}>
          <line x1={(lon - frame.west) * frame.wide} x2={(lon - frame.west) * frame.wide} y1="0" y2={height} />
          <text x={(lon - frame.west) * frame.wide + 4} y={height - 6}>{lon.toFixed(digits)}°</text>
        </g>
      ))}
      {lines(frame.north - height / frame.tall, frame.north).map((lat) => (
        <g key={`lat ${lat}`}>
          <line y1={(frame.north - lat) * frame.tall} y2={(frame.north - lat) * frame.tall} x1="0" x2={width} />
          <text x="4" y={(frame.north - lat) * frame.tall - 4}>{lat.toFixed(digits)}°</text>
        </g>
      ))}
    </g>
  );
}

/** Round steps: 1, 2 or 5 of some power of ten, about six of them across. */
function stepOf(range: number): number {
  const rough = range / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10) * power;
}

function degrees(mapping: Mapping, pair: CoordinatePair): Point | null {
  const [lat, lon] = [numberOf(mapping[pair.lat]), numberOf(mapping[pair.lon])];
  return lat === null || lon === null ? null : { x: lon, y: lat };
}

function frameOf(points: (Point | null)[], { width, height }: Size): Frame {
  const found = points.filter((point): point is Point => point !== null);
  const xs = found.map((point) => point.x);
  const ys = found.map((point) => point.y);
  const [west, east, south, north] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  // A degree of longitude is shorter away from the equator.
  const shrink = Math.cos((((north + south) / 2) * Math.PI) / 180);
  const tall = Math.min((height - 2 * EDGE) / Math.max(north - south, 0.01), (width - 2 * EDGE) / (Math.max(east - west, 0.01) * shrink));
  const wide = tall * shrink;
  return { width, height, west: (west + east) / 2 - width / 2 / wide, north: (north + south) / 2 + height / 2 / tall, tall, wide };
}

function at(frame: Frame, point: Point | null): Point | null {
  return point === null ? null : { x: (point.x - frame.west) * frame.wide, y: (frame.north - point.y) * frame.tall };
}
