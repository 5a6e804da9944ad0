/** Each row as it arrived, the newest first. */
import { useRef } from "preact/hooks";
import { instant } from "../parts/format";
import { isNumeric, type Prefixes } from "../rdf/terms";
import type { Results } from "./model";
import { Cell } from "./table";

const SHOWN_MAX = 200;
/** More rows than this at once are not announced one by one: fading all of them in would keep the page from anything else. */
const ANNOUNCED_MAX = 30;

export function History({ results, prefixes }: { results: Results; prefixes: Prefixes }) {
  const rows = results.arrivals.slice(0, SHOWN_MAX);
  const shown = useRef({ last: 0, quiet: 0 }).current;
  const newest = rows[0]?.number ?? 0;
  if (newest - shown.last > ANNOUNCED_MAX) shown.quiet = newest;
  shown.last = newest;
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Results as they arrive">
      <table class="data">
        <thead>
          <tr>
            <th scope="col"><span class="hidden">inserted or deleted</span></th>
            <th scope="col">time</th>
            {results.variables.map((name) => <th key={name} scope="col" class={isNumeric(rows[0]?.mapping[name]) ? "number" : ""}>{name}</th>)}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.number} class={`${row.isDeleted ? "minus" : "plus"}${row.number > shown.quiet ? " fresh" : ""}`}>
              <td class="sign" title={row.isDeleted ? "deleted" : "inserted"}>{row.isDeleted ? "−" : "+"}</td>
              <td class="time">{instant(row.t)}</td>
              {results.variables.map((name) => <Cell key={name} term={row.mapping[name]} prefixes={prefixes} />)}
            </tr>
          ))}
        </tbody>
      </table>
      {results.arrivals.length > SHOWN_MAX && <p class="quiet pad">The newest {SHOWN_MAX}.</p>}
    </div>
  );
}
