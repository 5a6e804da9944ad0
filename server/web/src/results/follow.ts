/** A query, followed for as long as a component shows it; what it shows is renewed a few times a second at most. */
import { useEffect, useRef, useState } from "preact/hooks";
import { api, ApiProblem } from "../api/http";
import { followQuery } from "../api/socket";
import type { QueryDocument, Table } from "../api/types";
import { Results } from "./model";

const SHOW_MS = 250;
/** Of the time between two drawings, a drawing may take a quarter: a page that is slow draws less often, and answers clicks. */
const REST = 4;
const SHOW_MS_MAX = 2_000;
const ASK_MS = 1_500;

export interface Followed {
  results: Results;
  version: number;
  /** When following began. */
  since: number;
  watermark: number | null;
  notice: string | null;
  isPaused: boolean;
  setPaused(paused: boolean): void;
}

export function useResults(query: QueryDocument): Followed {
  const key = `${query.id} ${query.incarnation} ${query.status}`;
  const state = useRef<{ key: string; results: Results; since: number } | null>(null);
  if (state.current?.key !== key) {
    state.current = { key, results: new Results(query.body, query.variables, query.form, query.r2s, query.lastSeq), since: Date.now() };
  }
  const { results, since } = state.current;
  const [version, setVersion] = useState(0);
  const [watermark, setWatermark] = useState<number | null>(query.watermark);
  const [notice, setNotice] = useState<string | null>(null);
  const [isPaused, setPaused] = useState(false);
  const paused = useRef(false);
  paused.current = isPaused;
  // The page is drawn again for other reasons as well; what is held must not change by that.
  const held = useRef<Results | null>(null);
  held.current = isPaused ? (held.current ?? results.held()) : null;

  useEffect(() => {
    let isWaiting = false;
    let wait = SHOW_MS;
    const draw = (): void => {
      isWaiting = false;
      if (paused.current) return;
      const begun = performance.now();
      setVersion((one) => one + 1);
      afterFrame(() => (wait = Math.min(SHOW_MS_MAX, Math.max(SHOW_MS, REST * (performance.now() - begun)))));
    };
    const show = (): void => {
      if (isWaiting) return;
      isWaiting = true;
      setTimeout(draw, wait);
    };
    setNotice(null);
    if (query.status !== "running") return undefined;
    const stop = followQuery(query.id, {
      next: (envelope) => (results.take(envelope), show()),
      progress: (at) => (setWatermark(at), show()),
      gap: (gap) => {
        // Results from before this page came are none that it has lost.
        if (gap.reason !== "replaced" && results.total > 0) results.lost += gap.toSeq - gap.fromSeq + 1;
        show();
      },
      resumed: () => setNotice("Reconnected; no result was missed."),
      failed: (problem) => setNotice(problem.detail),
    });
    // Shown again even if nothing comes: the reason for that is worth telling.
    const late = setTimeout(show, 2_000);
    const asking = results.isWhole ? undefined : ask(query, results, show);
    return () => (stop(), asking?.(), clearTimeout(late));
  }, [key]);

  return { results: held.current ?? results, version, since, watermark, notice, isPaused, setPaused };
}

/** When the next frame is on the screen. */
function afterFrame(then: () => void): void {
  requestAnimationFrame(() => setTimeout(then));
}

/** The whole answer of a query whose results are only what is new or gone. */
function ask(query: QueryDocument, results: Results, show: () => void): () => void {
  let timer = 0;
  const isGraph = query.form === "CONSTRUCT" || query.form === "DESCRIBE";
  const accept = isGraph ? "application/n-quads" : "application/sparql-results+json";
  const again = async (): Promise<void> => {
    try {
      const text = await api.answer(query.id, accept);
      const mappings = isGraph
        ? results.statements(text)
        : ((JSON.parse(text) as Table).results?.bindings ?? []);
      results.answer(mappings, null);
      show();
    } catch (error) {
      if (error instanceof ApiProblem && error.slug === "answer-not-kept") return;
    }
    timer = window.setTimeout(() => void again(), ASK_MS);
  };
  void again();
  return () => clearTimeout(timer);
}
