/** A small made-up sample of a scenario's data: what is static, and what happens step by step. The same every time. */

export interface SampleEvent {
  stream: string;
  turtle: string;
}

export interface Sample {
  /** Static graphs by IRI, as Turtle. */
  graphs: Readonly<Record<string, string>>;
  /** How much event time one playing covers. */
  spanMs: number;
  /** Events of one step; `t` is its instant. */
  at(step: number, t: number, random: Random): SampleEvent[];
}

export type Random = () => number;

/** Mulberry32: equal seeds give equal numbers. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

export function pick<T>(from: readonly T[], random: Random): T {
  return from[Math.floor(random() * from.length)] as T;
}

export const between = (low: number, high: number, random: Random): number => low + (high - low) * random();
export const dateTime = (t: number): string => `"${new Date(t).toISOString()}"^^<http://www.w3.org/2001/XMLSchema#dateTime>`;
export const double = (value: number): string => `"${value.toFixed(3)}"^^<http://www.w3.org/2001/XMLSchema#double>`;
