/**
 * A plan at work: what flows where and how fast, what each part keeps, and in which order joins probe.
 *
 *     stream ─ window   stream ─ window       one colour for each window
 *     ┌ join ─────────────────────────┐
 *     │ ring   ring   ring   orders   │       a ring for each pattern, in the colour of its window
 *     └───────────────┬───────────────┘
 *                   group                     operators, each below what it reads
 *                  results
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { streams } from "../api/catalogue";
import { api, said } from "../api/http";
import type { PlanDocument, PlanOperator, QueryDocument } from "../api/types";
import { bytes, count, rate } from "../parts/format";
import { shortIri, type Prefixes } from "../rdf/terms";
import { Details } from "./details";
import { Join, type Choice } from "./join";
import { bytesKept, bytesOf, inputAt, leavesOf, Readings, RESULTS, ROOT, type Seen } from "./readings";

const EVERY_MS = 1_000;

export function Plan({ query, prefixes }: { query: QueryDocument; prefixes: Prefixes }) {
  const [seen, fault] = usePlan(query);
  const [chosen, setChosen] = useState<string | null>(null);
  if (seen === null) return <p class="empty">{fault ?? "Loading the plan…"}</p>;
  const { plan } = seen;
  const colourOf = (window: string | undefined): string => {
    const at = plan.windows.findIndex((one) => one.name === window);
    return at < 0 ? "var(--faint)" : `var(--series-${(at % 8) + 1})`;
  };
  const choice = { chosen, colourOf, choose: (place: string) => setChosen(place === chosen ? null : place) };
  return (
    <div class="plan">
      <p class="plan-facts">
        <span class={plan.incremental ? "badge good" : "badge warn"}>{plan.incremental ? "incremental" : "re-evaluated"}</span>
        <span>reports on {plan.query.report.join(", ")}</span>
        <span>tick {plan.query.tick}</span>
        <span><strong>{count(query.stats.stateSize ?? 0)}</strong> mappings, rows and groups kept</span>
        <span><strong>{bytes(bytesKept(plan.root))}</strong> of memory</span>
      </p>
      <div class="plan-scroll" tabIndex={0} role="group" aria-label="Operators of the plan">
        <Sources plan={plan} query={query} prefixes={prefixes} choice={choice} />
        <Pipe perSecond={sourceRate(plan)} />
        {plan.root !== undefined && <Node operator={plan.root} place={ROOT} seen={seen} choice={choice} />}
        <Pipe perSecond={seen.rates.get(RESULTS) ?? 0} unit="results" />
        <button type="button" class={`part results ${chosen === RESULTS ? "chosen" : ""}`} aria-expanded={chosen === RESULTS} onClick={() => choice.choose(RESULTS)}>
          <span class="part-kind">results</span>
          <span class="part-title">{plan.query.r2s} {plan.query.form}</span>
          <span class="part-note">{plan.query.variables.join(" ")}</span>
        </button>
      </div>
      {chosen !== null && <Details place={chosen} seen={seen} query={query} close={() => setChosen(null)} />}
    </div>
  );
}

function usePlan(query: QueryDocument): [Seen | null, string | null] {
  const [seen, setSeen] = useState<Seen | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const results = useRef(0);
  results.current = query.stats.results;
  useEffect(() => {
    let timer = 0;
    let isOver = false;
    const readings = new Readings();
    const again = async (): Promise<void> => {
      try {
        const plan = await api.plan(query.id);
        if (!isOver) setSeen(readings.take(plan, results.current, performance.now()));
      } catch (error) {
        if (!isOver) setFault(said(error));
      }
      if (!isOver) timer = window.setTimeout(() => void again(), EVERY_MS);
    };
    void again();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [query.id, query.incarnation, query.status]);
  return [seen, fault];
}

const rateOf = (iri: string): number => streams.value.find((one) => one.streamIRI === iri)?.rate ?? 0;
const sourceRate = (plan: PlanDocument): number => [...new Set(plan.windows.map((one) => one.stream))].reduce((sum, iri) => sum + rateOf(iri), 0);

interface SourceProperties {
  plan: PlanDocument;
  query: QueryDocument;
  prefixes: Prefixes;
  choice: Choice;
}

function Sources({ plan, query, prefixes, choice }: SourceProperties) {
  const leaves = leavesOf(plan.root);
  return (
    <div class="sources">
      {plan.windows.map((window) => {
        const mine = leaves.filter((leaf) => leaf.window === window.name);
        const [live, held] = [mine.reduce((sum, leaf) => sum + (leaf.live ?? 0), 0), mine.reduce((sum, leaf) => sum + bytesOf(leaf), 0)];
        const [streamPlace, windowPlace] = [`stream ${window.stream}`, `window ${window.name}`];
        return (
          <div class="source" key={window.name}>
            <button type="button" class={`part stream ${choice.chosen === streamPlace ? "chosen" : ""}`} aria-expanded={choice.chosen === streamPlace} onClick={() => choice.choose(streamPlace)}>
              <span class="part-title" title={window.stream}>{shortIri(window.stream, prefixes)}</span><span class="part-note">{rate(rateOf(window.stream))}</span>
            </button>
            <button
              type="button" class={`part window ${choice.chosen === windowPlace ? "chosen" : ""}`} style={{ borderTopColor: choice.colourOf(window.name) }}
              aria-expanded={choice.chosen === windowPlace} onClick={() => choice.choose(windowPlace)}
            >
              <span class="part-kind">window {window.short}</span>
              <span class="part-title" title={window.text}>{window.text}</span>
              <span class="part-note"><strong>{count(query.stats.windows?.[window.name] ?? live)}</strong> live · {bytes(held)}</span>
            </button>
          </div>
        );
      })}
    </div>
  );
}

interface NodeProperties {
  operator: PlanOperator;
  place: string;
  seen: Seen;
  choice: Choice;
}

function Node({ operator, place, seen, choice }: NodeProperties) {
  const inputs = operator.inputs ?? [];
  return (
    <div class="node">
      {inputs.length > 0 && (
        <div class={inputs.length > 1 ? "inputs several" : "inputs"}>
          {inputs.map((input, at) => (
            <div class="input" key={at}>
              <Node operator={input} place={inputAt(place, at)} seen={seen} choice={choice} />
              <Pipe perSecond={seen.rates.get(inputAt(place, at)) ?? 0} />
            </div>
          ))}
        </div>
      )}
      {operator.buffers === undefined ? <Operator operator={operator} place={place} choice={choice} /> : <Join operator={operator} place={place} seen={seen} choice={choice} />}
    </div>
  );
}

function Operator({ operator, place, choice }: { operator: PlanOperator; place: string; choice: Choice }) {
  const isAnew = (operator.mode ?? "").startsWith("re");
  const notes = [operator.mode ?? "", operator.keeps ? `keeps ${count(operator.keeps)}` : "", operator.bytes ? bytes(operator.bytes) : "", operator.keys?.length ? `by ${operator.keys.join(" ")}` : ""];
  return (
    <button
      type="button" class={`part operator ${isAnew ? "anew" : ""} ${choice.chosen === place ? "chosen" : ""}`} aria-expanded={choice.chosen === place}
      onClick={() => choice.choose(place)}
    >
      <span class="part-kind">{operator.operator}</span>
      <span class="part-title" title={operator.detail}>{operator.detail ?? ""}</span>
      <span class="part-note">{notes.filter((one) => one !== "").join(" · ")}</span>
    </button>
  );
}

/** An edge: dots run along it as often as something flows, within what an eye can follow. */
function Pipe({ perSecond, unit = "" }: { perSecond: number; unit?: string }) {
  const lasts = perSecond === 0 ? 0 : Math.min(4, Math.max(0.35, 2.4 / Math.sqrt(perSecond)));
  return (
    <div class="pipe-row">
      <svg class="pipe-line" width="12" height="34" viewBox="0 0 12 34" aria-hidden="true">
        <path class="pipe" d="M6 0V34" />
        {lasts > 0 && <path class="dots" d="M6 0V34" style={{ animationDuration: `${lasts.toFixed(1)}s` }} />}
      </svg>
      <span class="flow-rate">{perSecond > 0 ? `${rate(perSecond)}${unit === "" ? "" : ` ${unit}`}` : ""}</span>
    </div>
  );
}
