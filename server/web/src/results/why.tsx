/** Why there is no result, in the words of the server. */
import { useEffect, useState } from "preact/hooks";
import { api, ApiProblem, said } from "../api/http";
import type { QueryDocument, WhyDocument, WhyWindow } from "../api/types";
import { clock, count, instant } from "../parts/format";
import { Spelled } from "../parts/spelled";
import { shortIri, type Prefixes } from "../rdf/terms";

const EVERY_MS = 1_000;

export function Why({ query, prefixes }: { query: QueryDocument; prefixes: Prefixes }) {
  const [why, setWhy] = useState<WhyDocument | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  useEffect(() => {
    let timer = 0;
    let isOver = false;
    const again = async (): Promise<void> => {
      try {
        const found = await api.why(query.id);
        if (!isOver) setWhy(found);
      } catch (error) {
        if (error instanceof ApiProblem && !isOver) setFault(said(error));
      }
      if (!isOver) timer = window.setTimeout(() => void again(), EVERY_MS);
    };
    void again();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [query.id, query.incarnation, query.status]);
  if (why === null) return <p class="empty">{fault ?? "Loading…"}</p>;
  return (
    <section class={`why ${why.state}`} aria-label="Why there is no result">
      <h3><Spelled text={why.summary} /></h3>
      {why.advice !== null && <p class="advice"><Spelled text={why.advice} /></p>}
      {why.windows.map((window) => <Waiting key={window.name} window={window} prefixes={prefixes} />)}
      {why.patterns.length > 0 && (
        <ul class="patterns">
          {why.patterns.map((one) => (
            <li key={`${one.window} ${one.pattern}`} class={one.matched === 0 && one.required ? "none" : one.live === 0 ? "idle" : ""}>
              <code><Spelled text={one.condition === null ? one.pattern : `${one.pattern} if ${one.condition}`} /></code>
              <span>{one.matched === 0 ? "never matched" : `${count(one.matched)} matched · ${count(one.live)} live`}</span>
              {one.matched === 0 && one.seen.length > 0 && (
                <p class="quiet">seen on the stream: {one.seen.map((seen) => shortIri(seen, prefixes)).join(", ")}</p>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** A window on its way to its end: a bar that fills as the watermark moves. */
function Waiting({ window, prefixes }: { window: WhyWindow; prefixes: Prefixes }) {
  const { open, close, watermark } = window;
  if (open === null || close === null || watermark === null) {
    return <p class="quiet">window {window.short} on {shortIri(window.stream, prefixes)} · {count(window.events)} events · watermark {instant(watermark)}</p>;
  }
  const share = Math.min(1, Math.max(0, (watermark - open) / Math.max(1, close - open)));
  return (
    <div class="waiting">
      <span>window {window.short} · watermark {clock(watermark)} · closes {clock(close)}</span>
      <span class="bar-track"><span class="bar" style={{ width: `${100 * share}%` }} /></span>
    </div>
  );
}
