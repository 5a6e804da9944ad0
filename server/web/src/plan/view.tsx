/** A plan at work: what flows where and how fast, what each part keeps, and in which order joins probe. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { streams } from "../api/catalogue";
import { api, said } from "../api/http";
import type { PlanBuffer, PlanDocument, PlanOperator, QueryDocument } from "../api/types";
import { count, rate } from "../parts/format";
import { shortIri, type Prefixes } from "../rdf/terms";
import { CARD, draw, type Card, type Drawing, type Flow } from "./layout";
import { Ring } from "./ring";

const EVERY_MS = 1_000;
/** Rates are those of so long: windows hand on what they hold in bursts. */
const RATE_MS = 6_000;

interface Reading {
  at: number;
  matched: ReadonlyMap<string, number>;
  live: ReadonlyMap<string, number>;
  results: number;
}

interface Seen {
  plan: PlanDocument;
  drawing: Drawing;
  /** Matches a second, by leaf. */
  rates: ReadonlyMap<string, number>;
  /** The most live mappings there were, by leaf. */
  most: ReadonlyMap<string, number>;
  resultRate: number;
}

export function Plan({ query, prefixes }: { query: QueryDocument; prefixes: Prefixes }) {
  const [seen, fault] = usePlan(query);
  const [chosen, choose] = useState<string | null>(null);
  const [place, width] = useWidth();
  if (seen === null) return <p class="empty">{fault ?? "Reading the plan…"}</p>;
  const { drawing } = seen;
  const card = drawing.cards.find((one) => one.id === chosen) ?? null;
  return (
    <div class="plan">
      <p class="plan-facts">
        <span class={seen.plan.incremental ? "badge good" : "badge warn"}>{seen.plan.incremental ? "incremental" : "re-evaluated"}</span>
        <span>reports on {seen.plan.query.report.join(", ")}</span>
        <span>tick {seen.plan.query.tick}</span>
        <span>{count(query.stats.stateSize ?? 0)} mappings, rows and groups kept</span>
      </p>
      <div class="plan-scroll" ref={place} tabIndex={0} role="group" aria-label="Operators of the plan">
        <div class="plan-area" style={{ width: `${drawing.width}px`, height: `${drawing.height}px`, zoom: String(zoomOf(width, drawing)) }}>
          <svg class="flows" width={drawing.width} height={drawing.height} aria-hidden="true">
            {drawing.flows.map((flow) => <Pipe key={flow.id} flow={flow} perSecond={speed(flow, seen)} />)}
          </svg>
          {drawing.cards.map((one) => (
            <PartCard key={one.id} card={one} seen={seen} prefixes={prefixes} isChosen={one.id === chosen} choose={() => choose(one.id === chosen ? null : one.id)} />
          ))}
        </div>
      </div>
      {card !== null && <Details card={card} query={query} prefixes={prefixes} close={() => choose(null)} />}
    </div>
  );
}

/** How wide an element is, also when that changes. */
function useWidth(): [(element: HTMLElement | null) => void, number] {
  const [width, setWidth] = useState(0);
  const observer = useRef<ResizeObserver | null>(null);
  const place = useCallback((element: HTMLElement | null) => {
    observer.current?.disconnect();
    if (element === null) return;
    observer.current = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.current.observe(element);
  }, []);
  return [place, width];
}

/** A wide plan is made smaller, as long as it can be read. */
function zoomOf(width: number, drawing: Drawing): number {
  return width === 0 ? 1 : Math.min(1, Math.max(0.58, (width - 40) / drawing.width));
}

function usePlan(query: QueryDocument): [Seen | null, string | null] {
  const [seen, setSeen] = useState<Seen | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const past = useRef<Reading[]>([]);
  const most = useRef(new Map<string, number>());
  const results = useRef(0);
  results.current = query.stats.results;

  useEffect(() => {
    let timer = 0;
    let isOver = false;
    past.current = [];
    most.current = new Map();
    const again = async (): Promise<void> => {
      try {
        const plan = await api.plan(query.id);
        if (!isOver) setSeen(look(plan));
      } catch (error) {
        if (!isOver) setFault(said(error));
      }
      if (!isOver) timer = window.setTimeout(() => void again(), EVERY_MS);
    };
    const look = (plan: PlanDocument): Seen => {
      const drawing = draw(plan);
      const now = readingOf(drawing, results.current);
      const old = past.current[0] ?? now;
      past.current = [...past.current.filter((one) => now.at - one.at < RATE_MS), now];
      const since = Math.max(0.2, (now.at - old.at) / 1000);
      for (const [id, live] of now.live) most.current.set(id, Math.max(most.current.get(id) ?? 1, live));
      const rates = new Map(Array.from(now.matched, ([id, total]) => [id, Math.max(0, (total - (old.matched.get(id) ?? total)) / since)]));
      return { plan, drawing, rates, most: most.current, resultRate: Math.max(0, (now.results - old.results) / since) };
    };
    void again();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [query.id, query.incarnation, query.status]);
  return [seen, fault];
}

function readingOf(drawing: Drawing, results: number): Reading {
  const leaves = drawing.cards.flatMap(({ id, part }) => (part.kind === "leaf" ? [{ id, buffer: part.buffer }] : []));
  return {
    at: performance.now(),
    matched: new Map(leaves.map(({ id, buffer }) => [id, buffer.matched ?? 0])),
    live: new Map(leaves.map(({ id, buffer }) => [id, buffer.live ?? 0])),
    results,
  };
}

function speed(flow: Flow, seen: Seen): number | null {
  if (flow.leaf !== null) return seen.rates.get(flow.leaf) ?? 0;
  if (flow.from.part.kind === "stream") {
    const { iri } = flow.from.part;
    return streams.value.find((one) => one.streamIRI === iri)?.rate ?? 0;
  }
  return flow.to.part.kind === "results" ? seen.resultRate : null;
}

/** An edge: dots run along it as often as something flows, within what an eye can follow. */
function Pipe({ flow, perSecond }: { flow: Flow; perSecond: number | null }) {
  const [x1, y1] = [flow.from.x + CARD.width / 2, flow.from.y + CARD.height];
  const [x2, y2] = [flow.to.x + CARD.width / 2, flow.to.y];
  const bend = Math.min(60, (y2 - y1) / 2);
  const path = `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
  const lasts = perSecond === null || perSecond === 0 ? 0 : Math.min(4, Math.max(0.35, 2.4 / Math.sqrt(perSecond)));
  return (
    <g>
      <path class="pipe" d={path} />
      {lasts > 0 && <path class="dots" d={path} style={{ animationDuration: `${lasts.toFixed(1)}s` }} />}
      {perSecond !== null && perSecond > 0 && (
        <text class="flow-rate" x={(x1 + x2) / 2 + 8} y={(y1 + y2) / 2 + 4}>{rate(perSecond)}</text>
      )}
    </g>
  );
}

interface CardProperties {
  card: Card;
  seen: Seen;
  prefixes: Prefixes;
  isChosen: boolean;
  choose(): void;
}

function PartCard({ card, seen, prefixes, isChosen, choose }: CardProperties) {
  const { part } = card;
  const mode = part.kind === "operator" ? (part.operator.mode ?? "") : "";
  return (
    <button
      type="button"
      class={`part ${part.kind} ${mode.startsWith("re") ? "anew" : ""} ${isChosen ? "chosen" : ""}`}
      style={{ left: `${card.x}px`, top: `${card.y}px`, width: `${CARD.width}px`, height: `${CARD.height}px` }}
      aria-expanded={isChosen}
      onClick={choose}
    >
      <PartText card={card} seen={seen} prefixes={prefixes} />
    </button>
  );
}

function PartText({ card, seen, prefixes }: { card: Card; seen: Seen; prefixes: Prefixes }) {
  const { part } = card;
  switch (part.kind) {
    case "stream": {
      const found = streams.value.find((one) => one.streamIRI === part.iri);
      return <Lines kind="stream" title={shortIri(part.iri, prefixes)} note={found === undefined ? "" : `${count(found.events)} events · ${count(found.late)} late`} />;
    }
    case "window":
      return <Lines kind="window" title={shortIri(part.name, prefixes)} note={part.text} />;
    case "leaf": {
      const { live = 0, matched = 0, pattern = "", condition } = part.buffer;
      return (
        <span class="leaf-card">
          <Ring live={live} most={seen.most.get(card.id) ?? live} matched={matched} />
          <Lines kind={condition === undefined ? "leaf" : `leaf · ${condition}`} title={pattern} note={`${count(matched)} matched`} />
        </span>
      );
    }
    case "operator":
      return <Lines kind={part.operator.operator} title={part.operator.detail ?? ""} note={operatorNote(part.operator)} />;
    default:
      return <Lines kind="results" title={`${seen.plan.query.r2s} ${seen.plan.query.form}`} note={seen.plan.query.variables.join(" ")} />;
  }
}

function Lines({ kind, title, note }: { kind: string; title: string; note: string }) {
  return (
    <span class="part-lines">
      <span class="part-kind">{kind}</span>
      <span class="part-title" title={title}>{title}</span>
      <span class="part-note" title={note}>{note}</span>
    </span>
  );
}

function operatorNote(operator: PlanOperator): string {
  const inner = (operator.buffers ?? []).filter((buffer) => buffer.pattern === undefined);
  const facts = [
    operator.keeps !== undefined && operator.keeps > 0 ? `keeps ${count(operator.keeps)}` : "",
    ...inner.map((buffer) => `${count(buffer.live ?? 0)} from below`.replace("below", `input ${buffer.input ?? 0}`)),
    (operator.orders ?? []).length > 0 ? `${operator.orders?.length} probing orders` : "",
    operator.mode ?? "",
  ];
  return facts.filter((fact) => fact !== "").join(" · ");
}

interface DetailProperties {
  card: Card;
  query: QueryDocument;
  prefixes: Prefixes;
  close(): void;
}

function Details({ card, query, prefixes, close }: DetailProperties) {
  const { part } = card;
  return (
    <aside class="details" aria-label="Details of the chosen part">
      <button type="button" class="icon-button" aria-label="Close details" onClick={close}>×</button>
      {part.kind === "operator" && <OperatorDetails operator={part.operator} />}
      {part.kind === "leaf" && <BufferDetails buffer={part.buffer} prefixes={prefixes} />}
      {part.kind === "window" && (
        <Facts facts={[["window", part.name], ["on stream", part.stream], ["rule", part.text], ["holds now", count(query.stats.windows?.[part.name] ?? 0)]]} />
      )}
      {part.kind === "stream" && <StreamDetails iri={part.iri} />}
      {part.kind === "results" && (
        <Facts facts={[["results", count(query.stats.results)], ["evaluations", count(query.stats.evaluations ?? 0)], ["evaluation time", `${(query.stats.evaluationSeconds ?? 0).toFixed(3)} s in all`], ["subscribers", String(query.subscribers)]]} />
      )}
    </aside>
  );
}

function StreamDetails({ iri }: { iri: string }) {
  const found = streams.value.find((one) => one.streamIRI === iri);
  return <Facts facts={[["stream", iri], ["events", count(found?.events ?? 0)], ["late", count(found?.late ?? 0)], ["rate", rate(found?.rate ?? 0)]]} />;
}

function OperatorDetails({ operator }: { operator: PlanOperator }) {
  const orders = operator.orders ?? [];
  const taken = orders.reduce((sum, one) => sum + one.taken, 0);
  return (
    <>
      <Facts facts={[
        ["operator", `${operator.operator} ${operator.detail ?? ""}`],
        ["mode", [operator.mode, operator.reason].filter(Boolean).join(": ")],
        ["keys", (operator.keys ?? []).join(" ")],
        ["keeps", operator.keeps === undefined ? "" : count(operator.keeps)],
        ["retraction", operator.retraction ?? ""],
        ["early stops", operator.early_stops === undefined ? "" : count(operator.early_stops)],
        ["variables", (operator.variables ?? []).join(" ")],
      ]} />
      {(operator.buffers ?? []).map((buffer) => <Indexes key={buffer.role} buffer={buffer} />)}
      {orders.length > 0 && (
        <div class="orders">
          <h4>Probing orders</h4>
          {orders.map((one) => (
            <div class="order" key={one.order.join(" ")}>
              <code>{one.order.join(" → ")}</code>
              <span class="bar-track"><span class="bar" style={{ width: `${taken === 0 ? 0 : (100 * one.taken) / taken}%` }} /></span>
              <span>{count(one.taken)}×</span>
            </div>
          ))}
        </div>
      )}
    </>
  );
}

function BufferDetails({ buffer, prefixes }: { buffer: PlanBuffer; prefixes: Prefixes }) {
  return (
    <>
      <Facts facts={[
        ["pattern", buffer.pattern ?? ""],
        ["condition", buffer.condition ?? ""],
        ["window", buffer.window === undefined ? "" : shortIri(buffer.window, prefixes)],
        ["matched", count(buffer.matched ?? 0)],
        ["live", count(buffer.live ?? 0)],
      ]} />
      <Indexes buffer={buffer} />
    </>
  );
}

function Indexes({ buffer }: { buffer: PlanBuffer }) {
  const indexes = buffer.indexes ?? [];
  if (indexes.length === 0) return null;
  return (
    <div class="indexes">
      <h4>Ring indexes of {buffer.pattern ?? `input ${buffer.input ?? 0}`}</h4>
      {indexes.map((index) => (
        <div class="index" key={index.on.join(" ")}><code>{index.on.join(" ") || "all"}</code><span>{count(index.keys)} keys</span></div>
      ))}
    </div>
  );
}

function Facts({ facts }: { facts: [string, string][] }) {
  return (
    <dl class="facts">
      {facts.filter(([, value]) => value !== "").map(([name, value]) => (
        <div key={name}><dt>{name}</dt><dd>{value}</dd></div>
      ))}
    </dl>
  );
}
