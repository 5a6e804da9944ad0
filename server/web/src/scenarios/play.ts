/** One click on a card of a scenario: its streams are declared, its static data loaded, its query started and a sample played. */
import { signal } from "@preact/signals";
import { queries, queryNamed, refresh } from "../api/catalogue";
import { api } from "../api/http";
import type { StreamDocument } from "../api/types";
import { tell } from "../parts/toast";
import { city } from "./city";
import { conference } from "./conference";
import { randomOf, type Sample } from "./sample";
import { social } from "./social";
import { taxis } from "./taxis";
import { weather } from "./weather";

/** By directory of examples. */
export const SAMPLES: Readonly<Record<string, Sample>> = { conference, debs2015: taxis, srbench: weather, lsbench: social, citybench: city };

const STEPS = 120;
const STEP_MS = 400;
/** Samples play in the past, so that hours pass in a minute; there is room for so many before the clock is reached. */
const PLAYINGS = 12;

/** Which scenario plays, and how much of it is over. */
export const playing = signal<{ scenario: string; share: number } | null>(null);
let turn = 0;

export function stopPlaying(): void {
  turn += 1;
  playing.value = null;
}

/** Start a query of a scenario, and play its sample unless it plays already. */
export async function runSample(scenario: string, name: string, text: string): Promise<void> {
  const sample = SAMPLES[scenario];
  if (sample === undefined) return;
  for (const [iri, turtle] of Object.entries(sample.graphs)) await api.addGraph(iri, turtle);
  const streams = [...new Set(sample.at(0, 0, randomOf(1)).map((event) => event.stream))];
  for (const iri of streams) await api.declare(iri, {});
  if (queryNamed(name)?.body.trim() !== text.trim()) {
    const made = await (queryNamed(name) === undefined ? api.register(name, text) : api.replace(name, text));
    queries.value = [...queries.value.filter((one) => one.id !== made.id), made].sort((a, b) => (a.id < b.id ? -1 : 1));
  }
  await refresh();
  if (playing.value?.scenario !== scenario) void play(scenario, sample, await api.streams(), streams);
}

async function play(scenario: string, sample: Sample, known: StreamDocument[], streams: readonly string[]): Promise<void> {
  const mine = ++turn;
  const marks = known.filter((one) => streams.includes(one.streamIRI)).map((one) => one.watermark ?? 0);
  const from = Math.max(Date.now() - PLAYINGS * sample.spanMs, ...marks.map((mark) => mark + 1));
  if (from + sample.spanMs > Date.now()) {
    tell("The watermark of these streams has reached the present, so the sample, whose times are in the past, would be late. Delete the streams to play it again.", true);
    return;
  }
  const random = randomOf(from);
  try {
    for (let step = 0; step < STEPS; step += 1) {
      playing.value = { scenario, share: step / STEPS };
      await pushStep(sample, step, Math.round(from + (step * sample.spanMs) / STEPS), random);
      await new Promise((done) => setTimeout(done, STEP_MS));
      if (turn !== mine) return;
    }
  } catch (error) {
    if (turn === mine) tell(`The sample was broken off: ${error instanceof Error ? error.message : String(error)}`, true);
  }
  if (turn === mine) playing.value = null;
}

async function pushStep(sample: Sample, step: number, t: number, random: () => number): Promise<void> {
  const byStream = new Map<string, { t: number; data: string }[]>();
  for (const { stream, turtle } of sample.at(step, t, random)) {
    const of = byStream.get(stream) ?? [];
    // Events of one step follow each other by a millisecond.
    of.push({ t: t + of.length, data: turtle });
    byStream.set(stream, of);
  }
  await Promise.all(Array.from(byStream, ([stream, events]) => api.pushAll(stream, events)));
}
