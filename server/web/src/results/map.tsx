/** Places on earth, drawn without tiles: a grid of degrees, points, and arcs where a row goes from one place to another. */
import type { Mapping } from "../api/types";
import { numberOf, shown, type Prefixes } from "../rdf/terms";
import { coordinatesOf, type CoordinatePair, type Results } from "./model";

const WIDTH = 900;
const HEIGHT = 560;
const EDGE = 46;
const ROWS_MAX = 300;

interface Point {
  x: number;
  y: number;
}

interface Frame {
  west: number;
  north: number;
  /** Pixels for a degree of latitude and of longitude. */
  tall: number;
  wide: number;
}

export function Places({ results, prefixes }: { results: Results; prefixes: Prefixes }) {
  const pairs = coordinatesOf(results.variables);
  const rows = results.rows.slice(0, ROWS_MAX);
  const frame = frameOf(rows.flatMap((row) => pairs.map((pair) => degrees(row.mapping, pair))));
  if (frame === null) return <p class="empty">There is no place in the current answer.</p>;
  const [value] = results.values;
  const most = Math.max(1, ...rows.map((row) => numberOf(row.mapping[value ?? ""]) ?? 1));
  return (
    <div class="graph-frame">
      <svg class="map" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${rows.length} rows on a map`}>
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
    </div>
  );
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
  const step = stepOf(WIDTH / frame.wide);
  const lines = (from: number, to: number): number[] => {
    const first = Math.ceil(from / step);
    return Array.from({ length: Math.max(0, Math.floor(to / step) - first + 1) }, (_, at) => (first + at) * step);
  };
  const digits = Math.max(0, Math.ceil(-Math.log10(step)));
  return (
    <g class="degrees">
      {lines(frame.west, frame.west + WIDTH / frame.wide).map((lon) => (
        <g key={`lon ${lon}`}>
          <line x1={(lon - frame.west) * frame.wide} x2={(lon - frame.west) * frame.wide} y1="0" y2={HEIGHT} />
          <text x={(lon - frame.west) * frame.wide + 4} y={HEIGHT - 6}>{lon.toFixed(digits)}°</text>
        </g>
      ))}
      {lines(frame.north - HEIGHT / frame.tall, frame.north).map((lat) => (
        <g key={`lat ${lat}`}>
          <line y1={(frame.north - lat) * frame.tall} y2={(frame.north - lat) * frame.tall} x1="0" x2={WIDTH} />
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

function frameOf(points: (Point | null)[]): Frame | null {
  const found = points.filter((point): point is Point => point !== null);
  if (found.length === 0) return null;
  const xs = found.map((point) => point.x);
  const ys = found.map((point) => point.y);
  const [west, east, south, north] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  // A degree of longitude is shorter away from the equator.
  const shrink = Math.cos((((north + south) / 2) * Math.PI) / 180);
  const tall = Math.min((HEIGHT - 2 * EDGE) / Math.max(north - south, 0.01), (WIDTH - 2 * EDGE) / (Math.max(east - west, 0.01) * shrink));
  const wide = tall * shrink;
  return { west: (west + east) / 2 - WIDTH / 2 / wide, north: (north + south) / 2 + HEIGHT / 2 / tall, tall, wide };
}

function at(frame: Frame, point: Point | null): Point | null {
  return point === null ? null : { x: (point.x - frame.west) * frame.wide, y: (frame.north - point.y) * frame.tall };
}
