/** What the counters of a plan say when it is read again and again: rates, the most there was, and how orders of probing change. */
import type { PlanBuffer, PlanDocument, PlanOperator } from "../api/types";

/** Rates are those of so long: windows hand on what they hold in bursts. */
const RATE_MS = 6_000;
/** How many readings the history of probing orders has: a minute. */
export const HISTORY_MAX = 60;

/** For each order of a join, as its roles, how often it was taken between two readings. */
export type Taken = ReadonlyMap<string, number>;

export interface Seen {
  plan: PlanDocument;
  /** Matches of leaves and rows of operators a second, by place. */
  rates: ReadonlyMap<string, number>;
  /** The most live mappings there were, by place. */
  most: ReadonlyMap<string, number>;
  /** By the place of a join, the newest reading last. */
  orders: ReadonlyMap<string, readonly Taken[]>;
}

interface Reading {
  at: number;
  counts: ReadonlyMap<string, number>;
}

/** The place of a buffer of a join. */
export const bufferAt = (place: string, role: number): string => `${place}.b${role}`;
/** The place of an input of an operator. */
export const inputAt = (place: string, at: number): string => `${place}.${at}`;
export const ROOT = "0";
export const RESULTS = "results";

export class Readings {
  private past: Reading[] = [];
  private readonly most = new Map<string, number>();
  private readonly orders = new Map<string, Taken[]>();
  private readonly totals = new Map<string, Map<string, number>>();

  take(plan: PlanDocument, results: number, at: number): Seen {
    const counts = new Map<string, number>([[RESULTS, results]]);
    if (plan.root !== undefined) this.note(plan.root, ROOT, counts);
    const now = { at, counts };
    const old = this.past[0] ?? now;
    this.past = [...this.past.filter((one) => at - one.at < RATE_MS), now];
    const seconds = Math.max(0.2, (at - old.at) / 1000);
    const rates = new Map(Array.from(counts, ([id, total]) => [id, Math.max(0, (total - (old.counts.get(id) ?? total)) / seconds)]));
    return { plan, rates, most: this.most, orders: this.orders };
  }

  private note(operator: PlanOperator, place: string, counts: Map<string, number>): void {
    counts.set(place, operator.emitted ?? 0);
    for (const buffer of operator.buffers ?? []) {
      const at = bufferAt(place, buffer.role);
      counts.set(at, buffer.matched ?? 0);
      this.most.set(at, Math.max(this.most.get(at) ?? 1, buffer.live ?? 0));
    }
    this.noteOrders(operator, place);
    for (const [at, input] of (operator.inputs ?? []).entries()) this.note(input, inputAt(place, at), counts);
  }

  private noteOrders({ orders = [] }: PlanOperator, place: string): void {
    if (orders.length === 0) return;
    const totals = new Map(orders.map((one) => [one.order.join(" "), one.taken]));
    const before = this.totals.get(place) ?? totals;
    const since = new Map(Array.from(totals, ([order, taken]) => [order, Math.max(0, taken - (before.get(order) ?? 0))]));
    this.totals.set(place, totals);
    this.orders.set(place, [...(this.orders.get(place) ?? []), since].slice(-HISTORY_MAX));
  }
}

/** A short name of each buffer: the predicate where that tells them apart, else the pattern. */
export function bufferNames(operator: PlanOperator): string[] {
  const buffers = operator.buffers ?? [];
  const short = buffers.map((buffer) => shortName(buffer, operator));
  return short.map((name, at) => (short.indexOf(name) === short.lastIndexOf(name) ? name : (buffers[at]?.pattern ?? `${name} ${at}`)));
}

function shortName({ pattern, input = 0 }: PlanBuffer, operator: PlanOperator): string {
  if (pattern === undefined) return operator.inputs?.[input]?.operator ?? `input ${input}`;
  const [, predicate = pattern, object = ""] = pattern.split(" ");
  return predicate.startsWith("?") ? pattern : predicate === "a" ? `a ${object}` : predicate;
}

/** Bytes of a buffer with its indexes. */
export const bytesOf = (buffer: PlanBuffer): number =>
  (buffer.bytes ?? 0) + (buffer.indexes ?? []).reduce((sum, index) => sum + (index.bytes ?? 0), 0);

/** Every buffer of a plan that reads a window. */
export function leavesOf(operator: PlanOperator | undefined): PlanBuffer[] {
  if (operator === undefined) return [];
  return [...(operator.buffers ?? []).filter((one) => one.pattern !== undefined), ...(operator.inputs ?? []).flatMap(leavesOf)];
}

/** Bytes of everything that a plan keeps: rings, indexes, trees, groups, rows. */
export function bytesKept(operator: PlanOperator | undefined): number {
  if (operator === undefined) return 0;
  const own = (operator.buffers ?? []).reduce((sum, one) => sum + bytesOf(one), 0) + (operator.trees?.bytes ?? 0) + (operator.bytes ?? 0);
  return own + (operator.inputs ?? []).reduce((sum, one) => sum + bytesKept(one), 0);
}
