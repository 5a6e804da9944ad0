/** What a click on a part of a plan shows: keys, counters, memory. */
import { streams } from "../api/catalogue";
import type { PlanBuffer, PlanDocument, PlanOperator, QueryDocument } from "../api/types";
import { bytes, count, duration, rate } from "../parts/format";
import { bufferAt, bytesKept, bytesOf, inputAt, leavesOf, RESULTS, ROOT, type Seen } from "./readings";

interface Properties {
  place: string;
  seen: Seen;
  query: QueryDocument;
  close(): void;
}

export function Details({ place, seen, query, close }: Properties) {
  return (
    <aside class="details" aria-label="Details of the chosen part">
      <button type="button" class="icon-button" aria-label="Close details" onClick={close}>×</button>
      <Chosen place={place} seen={seen} query={query} close={close} />
    </aside>
  );
}

function Chosen({ place, seen, query }: Properties) {
  if (place.startsWith("window ")) return <WindowDetails name={place.slice(7)} plan={seen.plan} query={query} />;
  if (place.startsWith("stream ")) return <StreamDetails iri={place.slice(7)} />;
  if (place === RESULTS) {
    return (
      <Facts facts={[
        ["results", count(query.stats.results)], ["rate", rate(seen.rates.get(RESULTS) ?? 0)],
        ["evaluations", count(query.stats.evaluations ?? 0)], ["evaluation time", duration(1000 * (query.stats.evaluationSeconds ?? 0))],
        ["subscribers", String(query.subscribers)], ["state", count(query.stats.stateSize ?? 0)], ["memory", bytes(bytesKept(seen.plan.root))],
      ]} />
    );
  }
  const found = seen.plan.root === undefined ? null : find(seen.plan.root, ROOT, place);
  if (found === null) return null;
  const perSecond = seen.rates.get(place) ?? 0;
  return found.buffer === undefined
    ? <OperatorDetails operator={found.operator} perSecond={perSecond} />
    : <BufferDetails buffer={found.buffer} plan={seen.plan} perSecond={perSecond} />;
}

/** The operator or buffer at a place. */
function find(operator: PlanOperator, at: string, place: string): { operator: PlanOperator; buffer?: PlanBuffer } | null {
  if (at === place) return { operator };
  const buffer = (operator.buffers ?? []).find((one) => bufferAt(at, one.role) === place);
  if (buffer !== undefined) return { operator, buffer };
  for (const [number, input] of (operator.inputs ?? []).entries()) {
    const found = find(input, inputAt(at, number), place);
    if (found !== null) return found;
  }
  return null;
}

function WindowDetails({ name, plan, query }: { name: string; plan: PlanDocument; query: QueryDocument }) {
  const window = plan.windows.find((one) => one.name === name);
  const leaves = leavesOf(plan.root).filter((leaf) => leaf.window === name);
  return (
    <Facts facts={[
      ["window", window?.short ?? name], ["on stream", window?.stream ?? ""], ["rule", window?.text ?? ""],
      ["elements", count(query.stats.windows?.[name] ?? 0)],
      ["live mappings", count(leaves.reduce((sum, leaf) => sum + (leaf.live ?? 0), 0))],
      ["memory", bytes(leaves.reduce((sum, leaf) => sum + bytesOf(leaf), 0))],
    ]} />
  );
}

function StreamDetails({ iri }: { iri: string }) {
  const found = streams.value.find((one) => one.streamIRI === iri);
  return <Facts facts={[["stream", iri], ["events", count(found?.events ?? 0)], ["late", count(found?.late ?? 0)], ["refused", count(found?.refused ?? 0)], ["rate", rate(found?.rate ?? 0)]]} />;
}

function OperatorDetails({ operator, perSecond }: { operator: PlanOperator; perSecond: number }) {
  const { trees, buffers = [] } = operator;
  const held = buffers.reduce((sum, one) => sum + bytesOf(one), (operator.bytes ?? 0) + (trees?.bytes ?? 0));
  return (
    <>
      <Facts facts={[
        ["operator", `${operator.operator} ${operator.detail ?? ""}`],
        ["mode", [operator.mode, operator.reason].filter(Boolean).join(": ")],
        ["keys", (operator.keys ?? []).join(" ")],
        ["emits", `${rate(perSecond)}, ${count(operator.emitted ?? 0)} in all`],
        ["keeps", operator.keeps === undefined ? "" : count(operator.keeps)],
        ["memory", held === 0 ? "" : bytes(held)],
        ["trees", trees === undefined ? "" : `${count(trees.live)} results, ${bytes(trees.bytes)}`],
        ["retraction", operator.retraction ?? ""],
        ["early stops", operator.early_stops === undefined ? "" : count(operator.early_stops)],
        ["variables", (operator.variables ?? []).join(" ")],
      ]} />
      {buffers.map((buffer) => <Indexes key={buffer.role} buffer={buffer} />)}
    </>
  );
}

function BufferDetails({ buffer, plan, perSecond }: { buffer: PlanBuffer; plan: PlanDocument; perSecond: number }) {
  return (
    <>
      <Facts facts={[
        ["pattern", buffer.pattern ?? `rows of input ${buffer.input ?? 0}`],
        ["condition", buffer.condition ?? ""],
        ["window", plan.windows.find((one) => one.name === buffer.window)?.short ?? ""],
        ["matched", buffer.matched === undefined ? "" : `${count(buffer.matched)}, ${rate(perSecond)}`],
        ["merged", buffer.merged === undefined ? "" : count(buffer.merged)],
        ["live", count(buffer.live ?? 0)],
        ["mappings", bytes(buffer.bytes ?? 0)],
        ["in order of", buffer.ordered_on ?? ""],
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
        <div class="index" key={index.on.join(" ")}>
          <code>{index.on.join(" ") || "all"}</code><span>{count(index.keys)} {index.keys === 1 ? "key" : "keys"} · {bytes(index.bytes ?? 0)}</span>
        </div>
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
