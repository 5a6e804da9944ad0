/** The metrics of the server, read while the page is open, so that their lines have a past when somebody looks. */
import { signal } from "@preact/signals";
import { streams } from "../api/catalogue";
import { api } from "../api/http";
import { connection } from "../api/session";
import { note } from "../parts/spark";
import { parseMetrics, sum, type Sample } from "./metrics";

const EVERY_MS = 3_000;
const COUNTERS = ["whorl_results_total", "whorl_evaluations_total", "process_cpu_seconds_total"] as const;
const GAUGES = ["process_resident_memory_bytes", "whorl_engine_state_size", "whorl_subscribers", "whorl_queue_bytes"] as const;
export const EVENTS = "events in";

export const samples = signal<Sample[]>([]);
/** A second, by counter; empty before the second reading. */
export const rates = signal<ReadonlyMap<string, number>>(new Map());
let before: { at: number; totals: Map<string, number> } | null = null;

/** Read them from now on; a page that nobody sees does not. */
export function watchNumbers(): () => void {
  let isOver = false;
  let timer = 0;
  const again = async (): Promise<void> => {
    if (document.visibilityState === "visible" && connection.value === "online") await read().catch(() => undefined);
    if (!isOver) timer = window.setTimeout(() => void again(), EVERY_MS);
  };
  timer = window.setTimeout(() => void again(), 300);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

async function read(): Promise<void> {
  const found = parseMetrics(await api.metrics());
  const at = performance.now();
  const totals = new Map<string, number>(COUNTERS.map((name) => [name, sum(found, name)]));
  if (before !== null) {
    const [old, seconds] = [before.totals, Math.max(0.1, (at - before.at) / 1000)];
    rates.value = new Map(COUNTERS.map((name) => [name, Math.max(0, ((totals.get(name) ?? 0) - (old.get(name) ?? 0)) / seconds)]));
    for (const name of COUNTERS) note(name, rates.value.get(name) ?? 0);
  }
  before = { at, totals };
  samples.value = found;
  for (const name of GAUGES) note(name, sum(found, name));
  note(EVENTS, streams.value.reduce((total, one) => total + one.rate, 0));
}
