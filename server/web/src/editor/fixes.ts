/** Quick fixes: the hint of a problem, done by a click. */
import type { Action } from "@codemirror/lint";
import { refresh, streams } from "../api/catalogue";
import { api } from "../api/http";
import type { Problem, Warning } from "../api/types";
import { COMMON_PREFIXES, prefixesOf, shortIri } from "../rdf/terms";
import { bare, nearest } from "./text";

interface Place {
  from: number;
  to: number;
}

export function replaceBy(text: string): Action {
  return {
    name: `Write ${text}`,
    apply: (view, from, to) => view.dispatch({ changes: { from, to, insert: text } }),
  };
}

export function fixesOf(problem: Problem, text: string, place: Place): Action[] {
  const slug = problem.type.slice(problem.type.lastIndexOf(":") + 1);
  if (slug === "unknown-stream" && problem.stream !== undefined) return streamFixes(problem.stream, text);
  if (problem.code === "prefix.unknown") return prefixFixes(problem, text);
  if (problem.code === "select.not_grouped") return groupFixes(text.slice(place.from, place.to), text);
  return meantFixes(problem.hint ?? "");
}

/** What a warning advises, where that can be written without asking. */
export function warningFixes(warning: Warning, text: string, place: Place): Action[] {
  const body = bare(text);
  switch (warning.code) {
    case "aggregate.merges":
      return insertion("Add SEMANTICS BAG", windowEnd(body, 0), " SEMANTICS BAG");
    case "window.unit": {
      const number = /^\d+/.exec(body.slice(place.from))?.[0];
      return number === undefined ? [] : [replaceBy(`${number}s`)];
    }
    case "window.gaps":
      return stepFixes(body, place.from);
    case "order.unlimited":
      return insertion("Add LIMIT 10", body.trimEnd().length, "\nLIMIT 10");
    default:
      return meantFixes(warning.hint ?? "");
  }
}

function insertion(name: string, at: number | null, insert: string): Action[] {
  return at === null ? [] : [{ name, apply: (view) => view.dispatch({ changes: { from: at, to: at, insert } }) }];
}

/** Where the next `[RANGE …]` closes. */
function windowEnd(body: string, from: number): number | null {
  const found = /\[\s*(?:RANGE|ELEMENTS|TRIPLES|ALL|FROM)\b[^\]]*(?=\])/i.exec(body.slice(from));
  return found === null ? null : from + found.index + found[0].length;
}

/** A step as long as its window: nothing falls between two windows. */
function stepFixes(body: string, from: number): Action[] {
  const found = /(\[\s*RANGE\s+(\S+)\s+)(?:STEP|SLIDE)\s+([^\s\]]+)/i.exec(body.slice(from));
  if (found === null) return [];
  const start = from + found.index + (found[1]?.length ?? 0);
  const change = { from: start, to: from + found.index + found[0].length, insert: `STEP ${found[2]}` };
  return [{ name: `Write STEP ${found[2]}`, apply: (view) => view.dispatch({ changes: change }) }];
}

/** `did you mean WHERE?` and its kin. */
function meantFixes(hint: string): Action[] {
  const found = /did you mean '?([^\s'?]+|\?[\w]+)'?\?/i.exec(hint);
  return found?.[1] === undefined ? [] : [replaceBy(found[1])];
}

function streamFixes(iri: string, text: string): Action[] {
  const similar = nearest(iri, streams.value.map((one) => one.streamIRI));
  const written = similar === null ? [] : [replaceBy(shortIri(similar, prefixesOf(text)))];
  return [...written, { name: "Declare this stream", apply: (view) => void declare(iri, () => nudge(view)) }];
}

async function declare(iri: string, then: () => void): Promise<void> {
  await api.declare(iri, {});
  await refresh();
  then();
}

/** A change that changes nothing makes the text be looked at again. */
function nudge(view: { dispatch(spec: { changes: { from: number; to: number; insert: string } }): void; state: { sliceDoc(from: number, to: number): string } }): void {
  view.dispatch({ changes: { from: 0, to: 1, insert: view.state.sliceDoc(0, 1) } });
}

function prefixFixes(problem: Problem, text: string): Action[] {
  const name = /prefix '([^':]*):'/.exec(problem.detail)?.[1];
  if (name === undefined) return [];
  const namespace = COMMON_PREFIXES[name];
  const line = `PREFIX ${name}: <${namespace ?? "http://example.org/"}>\n`;
  const at = /^(?:\s*#[^\n]*\n)*/.exec(text)?.[0].length ?? 0;
  return [{ name: `Add ${line.trim()}`, apply: (view) => view.dispatch({ changes: { from: at, to: at, insert: line } }) }];
}

function groupFixes(variable: string, text: string): Action[] {
  const clause = /\bGROUP\s+BY\b/i.exec(text);
  const at = clause === null ? text.trimEnd().length : clause.index + clause[0].length;
  const insert = clause === null ? `\nGROUP BY ${variable}` : ` ${variable}`;
  return [{ name: `Add ${variable} to GROUP BY`, apply: (view) => view.dispatch({ changes: { from: at, to: at, insert } }) }];
}
