/** The current result: sortable, with what is new, gone and changed shown for a moment. */
import { useState } from "preact/hooks";
import type { Mapping, RdfTerm } from "../api/types";
import { isNumeric, ntriples, numberOf, shown, type Prefixes } from "../rdf/terms";
import type { Results, Row } from "./model";

const SHOWN_MAX = 500;
const FLASH_MS = 2_500;
/** Where more rows than this change at once, none flashes. */
const FLASHING_MAX = 60;

interface Order {
  by: string;
  descending: boolean;
}

export function ResultTable({ results, prefixes }: { results: Results; prefixes: Prefixes }) {
  const [order, setOrder] = useState<Order | null>(null);
  const rows = sorted(results.rows, order);
  const going = order === null ? results.going : [];
  const shown = rows.slice(0, SHOWN_MAX);
  const isCalm = shown.filter((row) => Date.now() - Math.max(row.newAt, row.changedAt) < FLASH_MS).length <= FLASHING_MAX;
  const turn = (by: string): void =>
    setOrder(order?.by !== by ? { by, descending: false } : order.descending ? null : { by, descending: true });
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="The current result">
      <table class="data">
        <thead>
          <tr>{results.variables.map((name) => <Head key={name} name={name} isNumber={isNumeric(shown[0]?.mapping[name])} order={order} turn={turn} />)}</tr>
        </thead>
        <tbody>
          {shown.map((row) => <Line key={row.id} row={row} variables={results.variables} prefixes={prefixes} isCalm={isCalm} />)}
          {going.map((row) => (
            <tr key={`gone ${row.id}`} class="gone">
              {results.variables.map((name) => <Cell key={name} term={row.mapping[name]} prefixes={prefixes} />)}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > SHOWN_MAX && <p class="quiet pad">The first {SHOWN_MAX} of {rows.length} rows. Export to get all of them.</p>}
    </div>
  );
}

function Head({ name, isNumber, order, turn }: { name: string; isNumber: boolean; order: Order | null; turn(name: string): void }) {
  const isMine = order?.by === name;
  const direction = !isMine ? "none" : order.descending ? "descending" : "ascending";
  return (
    <th aria-sort={direction} scope="col" class={isNumber ? "number" : ""}>
      <button type="button" class="sort" onClick={() => turn(name)}>
        {name}<span aria-hidden="true">{isMine ? (order.descending ? " ↓" : " ↑") : ""}</span>
      </button>
    </th>
  );
}

function Line({ row, variables, prefixes, isCalm }: { row: Row; variables: string[]; prefixes: Prefixes; isCalm: boolean }) {
  const isNew = isCalm && Date.now() - row.newAt < FLASH_MS;
  const isChanged = isCalm && Date.now() - row.changedAt < FLASH_MS;
  return (
    <tr class={isNew ? "new" : ""}>
      {variables.map((name) => (
        <Cell
          // Another key makes the flash begin again when a cell changes twice.
          key={isChanged && row.before.has(name) ? `${name} ${row.changedAt}` : name}
          term={row.mapping[name]}
          prefixes={prefixes}
          before={isChanged && row.before.has(name) ? (row.before.get(name) ?? null) : undefined}
        />
      ))}
    </tr>
  );
}

interface CellProperties {
  term: RdfTerm | undefined;
  prefixes: Prefixes;
  /** Undefined: it has not changed; null: it was no number. */
  before?: number | null | undefined;
}

export function Cell({ term, prefixes, before }: CellProperties) {
  const now = numberOf(term);
  const isUp = before !== undefined && before !== null && now !== null && now > before;
  const isDown = before !== undefined && before !== null && now !== null && now < before;
  const kind = isNumeric(term) ? "number" : term?.type === "uri" ? "iri" : "";
  return (
    <td class={`${kind}${before === undefined ? "" : isUp ? " changed up" : isDown ? " changed down" : " changed"}`} title={ntriples(term)}>
      {shown(term, prefixes)}
    </td>
  );
}

function sorted(rows: Row[], order: Order | null): Row[] {
  if (order === null) return rows;
  const sign = order.descending ? -1 : 1;
  return [...rows].sort((a, b) => sign * compare(a.mapping, b.mapping, order.by));
}

function compare(a: Mapping, b: Mapping, name: string): number {
  const [left, right] = [numberOf(a[name]), numberOf(b[name])];
  if (left !== null && right !== null) return left - right;
  return String(a[name]?.value ?? "").localeCompare(String(b[name]?.value ?? ""));
}
