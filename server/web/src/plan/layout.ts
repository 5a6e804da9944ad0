/**
 * Where the parts of a plan stand: streams above, then windows, leaves, operators, and the results below, as data flows.
 *
 *     stream        stream          row 0
 *     window        window          row 1
 *     leaf   leaf   leaf            right above the operator that reads them
 *        join                       operators, each below what it reads
 *        group
 *        results                    the last row
 */
import type { PlanBuffer, PlanDocument, PlanOperator } from "../api/types";

export const CARD = { width: 208, height: 84 } as const;
const GAP = { x: 26, y: 54 } as const;

export type Part =
  | { kind: "stream"; iri: string }
  | { kind: "window"; name: string; stream: string; text: string }
  | { kind: "leaf"; buffer: PlanBuffer }
  | { kind: "operator"; operator: PlanOperator }
  | { kind: "results" };

export interface Card {
  id: string;
  part: Part;
  x: number;
  y: number;
}

export interface Flow {
  id: string;
  from: Card;
  to: Card;
  /** The leaf whose matches flow here, if that is known. */
  leaf: string | null;
}

export interface Drawing {
  cards: Card[];
  flows: Flow[];
  width: number;
  height: number;
}

interface Grown {
  card: Card;
  level: number;
  children: Grown[];
}

export function draw(plan: PlanDocument): Drawing {
  const cards: Card[] = [];
  const flows: Flow[] = [];
  const add = (id: string, part: Part): Card => {
    const card = { id, part, x: 0, y: 0 };
    cards.push(card);
    return card;
  };
  const flow = (from: Card, to: Card, leaf: string | null = null): void => {
    flows.push({ id: `${from.id}>${to.id}`, from, to, leaf });
  };
  const results = add("results", { kind: "results" });
  const root: Grown = { card: results, level: 0, children: [] };
  if (plan.root !== undefined) {
    const grown = grow(plan.root, "0", 1, add, flow);
    root.children.push(grown);
    flow(grown.card, results);
  }
  const width = spread(root, 0);
  const deepest = depth(root);
  const sources = addSources(plan, cards, add, flow);
  arrange(sources.windows, width);
  arrange(sources.streams, width);
  const row = (card: Card, at: number): void => void (card.y = at * (CARD.height + GAP.y));
  sources.streams.forEach((card) => row(card, 0));
  sources.windows.forEach((card) => row(card, 1));
  place(root, (card, level) => row(card, deepest - level + 2));
  const right = Math.max(...cards.map((card) => card.x)) + CARD.width;
  return { cards, flows, width: right, height: (deepest + 2) * (CARD.height + GAP.y) + CARD.height };
}

type Add = (id: string, part: Part) => Card;
type Connect = (from: Card, to: Card, leaf?: string | null) => void;

function grow(operator: PlanOperator, path: string, level: number, add: Add, flow: Connect): Grown {
  const card = add(path, { kind: "operator", operator });
  const children: Grown[] = [];
  for (const [at, buffer] of (operator.buffers ?? []).entries()) {
    if (buffer.pattern === undefined) continue;
    const leaf = add(`${path}.b${at}`, { kind: "leaf", buffer });
    flow(leaf, card, leaf.id);
    children.push({ card: leaf, level: level + 1, children: [] });
  }
  for (const [at, input] of (operator.inputs ?? []).entries()) {
    const grown = grow(input, `${path}.${at}`, level + 1, add, flow);
    flow(grown.card, card);
    children.push(grown);
  }
  return { card, level, children };
}

/** Give each leaf a column and each parent the middle of its children; how much room was taken. */
function spread(grown: Grown, from: number): number {
  let at = from;
  for (const child of grown.children) at = spread(child, at);
  if (grown.children.length === 0) {
    grown.card.x = from;
    return from + CARD.width + GAP.x;
  }
  const xs = grown.children.map((child) => child.card.x);
  grown.card.x = (Math.min(...xs) + Math.max(...xs)) / 2;
  return at;
}

const depth = (grown: Grown): number => Math.max(grown.level, ...grown.children.map(depth));

function place(grown: Grown, at: (card: Card, level: number) => void): void {
  at(grown.card, grown.level);
  grown.children.forEach((child) => place(child, at));
}

function addSources(plan: PlanDocument, cards: Card[], add: Add, flow: Connect): { streams: Card[]; windows: Card[] } {
  const leaves = cards.filter((card) => card.part.kind === "leaf");
  const streams = new Map<string, Card>();
  const windows = plan.windows.map((window) => {
    const { name, stream, text } = window;
    const card = add(`window ${name}`, { kind: "window", name, stream, text });
    const readers = leaves.filter((leaf) => leaf.part.kind === "leaf" && leaf.part.buffer.window === name);
    readers.forEach((leaf) => flow(card, leaf, leaf.id));
    card.x = mean(readers);
    return card;
  });
  for (const card of windows) {
    const iri = card.part.kind === "window" ? card.part.stream : "";
    const stream = streams.get(iri) ?? add(`stream ${iri}`, { kind: "stream", iri });
    streams.set(iri, stream);
    flow(stream, card);
    const fed = windows.filter((one) => one.part.kind === "window" && one.part.stream === iri);
    stream.x = mean(fed);
  }
  return { streams: [...streams.values()], windows };
}

const mean = (cards: Card[]): number => cards.reduce((sum, card) => sum + card.x, 0) / Math.max(1, cards.length);

/** Cards of one row side by side, each as near to its own place as the others allow. */
function arrange(cards: Card[], width: number): void {
  cards.sort((a, b) => a.x - b.x);
  let free = 0;
  for (const card of cards) {
    card.x = Math.max(card.x, free);
    free = card.x + CARD.width + GAP.x;
  }
  const over = free - Math.max(width, CARD.width + GAP.x);
  if (over > 0) cards.forEach((card, at) => (card.x = Math.max(at * (CARD.width + GAP.x), card.x - over)));
}
