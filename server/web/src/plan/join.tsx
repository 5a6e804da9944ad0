/** A join: a ring for each pattern, the orders of probing between them, and the results that are kept as trees. */
import type { PlanBuffer, PlanOperator } from "../api/types";
import { bytes, count, rate } from "../parts/format";
import { bufferAt, bufferNames, bytesOf, inputAt, type Seen } from "./readings";
import { Orders } from "./orders";
import { Ring } from "./ring";

export interface Choice {
  chosen: string | null;
  choose(place: string): void;
  /** The colour of a window. */
  colourOf(window: string | undefined): string;
}

interface Properties {
  operator: PlanOperator;
  place: string;
  seen: Seen;
  choice: Choice;
}

export function Join({ operator, place, seen, choice }: Properties) {
  const names = bufferNames(operator);
  const buffers = operator.buffers ?? [];
  const isLeaf = buffers.length === 1;
  return (
    <div class={`join-box ${choice.chosen === place ? "chosen" : ""}`}>
      {!isLeaf && (
        <button type="button" class="part operator join-head" aria-expanded={choice.chosen === place} onClick={() => choice.choose(place)}>
          <span class="part-kind">join</span>
          <span class="part-title">{operator.detail ?? ""}</span>
          <span class="part-note">{operator.mode}{operator.early_stops ? ` · ${count(operator.early_stops)} early stops` : ""}</span>
        </button>
      )}
      <div class="rings">
        {buffers.map((buffer) => <Leaf key={buffer.role} buffer={buffer} operator={operator} place={place} seen={seen} choice={choice} />)}
      </div>
      {!isLeaf && (
        <div class="join-facts">
          <Orders orders={operator.orders ?? []} names={names} history={seen.orders.get(place) ?? []} />
          <Trees operator={operator} colours={buffers.map((buffer) => choice.colourOf(buffer.window))} />
        </div>
      )}
    </div>
  );
}

function Leaf({ buffer, operator, place, seen, choice }: Properties & { buffer: PlanBuffer }) {
  const at = bufferAt(place, buffer.role);
  const { live = 0, matched = 0, pattern, condition, input = 0 } = buffer;
  const colour = choice.colourOf(buffer.window);
  const perSecond = pattern === undefined ? (seen.rates.get(inputAt(place, input)) ?? 0) : (seen.rates.get(at) ?? 0);
  const title = pattern ?? `rows of ${operator.inputs?.[input]?.operator ?? "an input"}`;
  return (
    <button
      type="button" class={`part leaf ${choice.chosen === at ? "chosen" : ""}`} style={{ borderTopColor: colour }} aria-expanded={choice.chosen === at}
      onClick={() => choice.choose(at)}
    >
      <Ring live={live} most={seen.most.get(at) ?? live} matched={pattern === undefined ? live : matched} colour={colour} />
      <span class="part-lines">
        <span class="part-title" title={title}><Words text={title} /></span>
        {condition !== undefined && <span class="part-kind" title={condition}>if {condition}</span>}
        {pattern !== undefined && <span class="part-note">{count(matched)} matched</span>}
        <span class="part-sub"><strong>{rate(perSecond)}</strong> · {bytes(bytesOf(buffer))}</span>
      </span>
    </button>
  );
}

/** Terms of a pattern are not broken where there is another place for a break. */
function Words({ text }: { text: string }) {
  return <>{text.split(" ").map((word, at) => <span class="word" key={at}>{word} </span>)}</>;
}

/** A result is a node that hangs on one mapping of each ring; when one of them expires, its results go without a search. */
function Trees({ operator, colours }: { operator: PlanOperator; colours: string[] }) {
  const { trees, retraction } = operator;
  const words: Record<string, string> = {
    probe: "When a mapping expires, probing again finds the results to retract.",
    unneeded: "Nothing is retracted: each window starts empty.",
  };
  if (trees === undefined) return <p class="tree-facts quiet">{words[retraction ?? ""] ?? ""}</p>;
  const step = 120 / (colours.length + 1);
  return (
    <div class="tree-facts">
      <h4>Mapping trees</h4>
      <svg class="tree" viewBox="0 0 120 54" width="120" height="54" aria-hidden="true">
        {colours.map((colour, at) => <path key={at} d={`M60 44C60 28 ${step * (at + 1)} 30 ${step * (at + 1)} 14`} style={{ stroke: colour }} />)}
        {colours.map((colour, at) => <circle key={at} cx={step * (at + 1)} cy="10" r="5" style={{ fill: colour }} />)}
        <circle class="tree-root" cx="60" cy="45" r="6" />
      </svg>
      <p><strong>{count(trees.live)}</strong> results kept · {bytes(trees.bytes)}</p>
      <p class="quiet">Each result refers to one mapping in each ring, and is removed when the first of them expires.</p>
    </div>
  );
}
