/** A graph that a CONSTRUCT makes: resources find their places by pushing each other away and being held together. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ntriples, shown, type Prefixes } from "../rdf/terms";
import type { Results } from "./model";

const NODES_MAX = 80;
const WIDTH = 900;
const HEIGHT = 520;
const STEPS = 220;

interface Node {
  id: string;
  label: string;
  isLiteral: boolean;
  x: number;
  y: number;
  vx: number;
  vy: number;
}

interface Edge {
  from: Node;
  to: Node;
  label: string;
}

export function Graph({ results, prefixes }: { results: Results; prefixes: Prefixes }) {
  const known = useRef(new Map<string, Node>());
  const { nodes, edges } = build(results, prefixes, known.current);
  const [, redraw] = useState(0);
  const shape = edges.map((edge) => `${edge.from.id} ${edge.label} ${edge.to.id}`).join("\n");

  useEffect(() => {
    let step = 0;
    let frame = 0;
    const go = (): void => {
      for (let i = 0; i < 4; i += 1) settle(nodes, edges, 1 - step / STEPS);
      redraw((one) => one + 1);
      if ((step += 4) < STEPS) frame = requestAnimationFrame(go);
    };
    frame = requestAnimationFrame(go);
    return () => cancelAnimationFrame(frame);
  }, [shape]);

  if (nodes.length === 0) return <p class="empty">The graph is empty now.</p>;
  return (
    <div class="graph-frame">
      <svg class="graph" viewBox={boxOf(nodes)} role="img" aria-label={`a graph of ${edges.length} triples`}>
        <defs>
          <marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" /></marker>
        </defs>
        {edges.map((edge) => <Arrow key={`${edge.from.id} ${edge.label} ${edge.to.id}`} edge={edge} />)}
        {nodes.map((node) => (
          <g key={node.id} transform={`translate(${node.x} ${node.y})`} class={node.isLiteral ? "node literal" : "node"}>
            <title>{node.id}</title>
            <circle r="7" />
            <text y="-13" text-anchor="middle">{node.label}</text>
          </g>
        ))}
      </svg>
      {results.rows.length > edges.length && <p class="quiet pad">{edges.length} of {results.rows.length} triples are drawn.</p>}
    </div>
  );
}

/** What is drawn, with room for labels: a small graph is not shown from afar. */
function boxOf(nodes: readonly Node[]): string {
  const [xs, ys] = [nodes.map((node) => node.x), nodes.map((node) => node.y)];
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const [width, height] = [Math.max(420, Math.max(...xs) - left + 160), Math.max(300, Math.max(...ys) - top + 80)];
  const [middle, centre] = [(left + Math.max(...xs)) / 2, (top + Math.max(...ys)) / 2];
  return `${middle - width / 2} ${centre - height / 2} ${width} ${height}`;
}

function Arrow({ edge }: { edge: Edge }) {
  const { from, to } = edge;
  const far = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const [ux, uy] = [(to.x - from.x) / far, (to.y - from.y) / far];
  return (
    <g class="edge">
      <line x1={from.x + 9 * ux} y1={from.y + 9 * uy} x2={to.x - 10 * ux} y2={to.y - 10 * uy} marker-end="url(#tip)" />
      <text x={(from.x + to.x) / 2} y={(from.y + to.y) / 2 - 5} text-anchor="middle">{edge.label}</text>
    </g>
  );
}

function build(results: Results, prefixes: Prefixes, known: Map<string, Node>): { nodes: Node[]; edges: Edge[] } {
  const used = new Map<string, Node>();
  const edges: Edge[] = [];
  for (const { mapping } of results.rows) {
    const { subject, predicate, object } = mapping;
    if (used.size >= NODES_MAX) break;
    const ends = [subject, object].map((term) => {
      const id = ntriples(term);
      const node = known.get(id) ?? placed(id, shown(term, prefixes), term?.type === "literal");
      known.set(id, node);
      used.set(id, node);
      return node;
    });
    const [from, to] = ends;
    if (from !== undefined && to !== undefined) edges.push({ from, to, label: shown(predicate, prefixes) });
  }
  return { nodes: [...used.values()], edges };
}

/** The first place follows from the name, so that a graph looks the same every time. */
function placed(id: string, label: string, isLiteral: boolean): Node {
  let hash = 7;
  for (const letter of id) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) >>> 0;
  const angle = ((hash % 360) * Math.PI) / 180;
  const radius = 80 + (hash % 130);
  const short = label.length > 28 ? `${label.slice(0, 27)}…` : label;
  return { id, label: short, isLiteral, x: WIDTH / 2 + radius * Math.cos(angle), y: HEIGHT / 2 + radius * Math.sin(angle), vx: 0, vy: 0 };
}

function settle(nodes: Node[], edges: Edge[], heat: number): void {
  for (const [at, a] of nodes.entries()) {
    for (const b of nodes.slice(at + 1)) repel(a, b);
    a.vx += (WIDTH / 2 - a.x) * 0.004;
    a.vy += (HEIGHT / 2 - a.y) * 0.007;
  }
  for (const { from, to } of edges) attract(from, to);
  for (const node of nodes) {
    node.x = Math.min(WIDTH - 60, Math.max(60, node.x + node.vx * heat));
    node.y = Math.min(HEIGHT - 24, Math.max(30, node.y + node.vy * heat));
    node.vx *= 0.82;
    node.vy *= 0.82;
  }
}

function repel(a: Node, b: Node): void {
  const [dx, dy] = [a.x - b.x || 0.5, a.y - b.y || 0.5];
  const push = 1500 / (dx * dx + dy * dy + 60);
  a.vx += dx * push * 0.05;
  a.vy += dy * push * 0.05;
  b.vx -= dx * push * 0.05;
  b.vy -= dy * push * 0.05;
}

function attract(a: Node, b: Node): void {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const far = Math.hypot(dx, dy) || 1;
  const pull = (far - 130) * 0.012;
  a.vx += (dx / far) * pull;
  a.vy += (dy / far) * pull;
  b.vx -= (dx / far) * pull;
  b.vy -= (dy / far) * pull;
}
