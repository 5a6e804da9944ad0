/**
 * Predicates that really occur on streams: read off what the windows of running queries hold, and off the events that a
 * person peeks at. Asked at most every ten seconds for a stream, over a bounded number of triples.
 */
import { signal } from "@preact/signals";
import { queries } from "../api/catalogue";
import { api } from "../api/http";

/** How long what was found of a stream is taken for all there is. */
export const AGAIN_MS = 10_000;
const TRIPLES_MAX = 3000;

/** By stream, the predicates with how often they were seen. */
export const seen = signal<ReadonlyMap<string, ReadonlyMap<string, number>>>(new Map());
/** By stream, when it was looked at last, and what ends when that is done. */
const looks = new Map<string, { at: number; done: Promise<void> }>();

export function notePredicates(stream: string, predicates: Iterable<string>): void {
  const of = new Map(seen.value.get(stream));
  for (const predicate of predicates) of.set(predicate, (of.get(predicate) ?? 0) + 1);
  seen.value = new Map(seen.value).set(stream, of);
}

/** Look at streams; done when their predicates are known, as far as they can be. */
export async function look(streams: Iterable<string>): Promise<void> {
  await Promise.all(Array.from(streams, lookAt));
}

function lookAt(stream: string): Promise<void> {
  const last = looks.get(stream);
  if (last !== undefined && Date.now() - last.at < AGAIN_MS) return last.done;
  const done = ask(stream);
  looks.set(stream, { at: Date.now(), done });
  return done;
}

async function ask(stream: string): Promise<void> {
  const graphs = queries.value
    .filter((query) => query.status === "running" && query.options["keepWindows"] !== false)
    .flatMap((query) => query.windows.filter((window) => window.stream === stream && window.graph !== null));
  for (const { graph } of graphs.slice(0, 4)) {
    try {
      const inner = `SELECT ?p { GRAPH <${graph}> { ?s ?p ?o } } LIMIT ${TRIPLES_MAX}`;
      const answer = await api.sparql(`SELECT DISTINCT ?p { { ${inner} } }`);
      notePredicates(stream, (answer.results?.bindings ?? []).map((row) => String(row["p"]?.value)));
    } catch {
      // The query has ended meanwhile, or the token may not ask: there is nothing to offer then.
    }
  }
}
