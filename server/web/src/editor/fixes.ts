/** Quick fixes: the hint of a problem, done by a click. */
import type { Action } from "@codemirror/lint";
import { refresh, streams } from "../api/catalogue";
import { api } from "../api/http";
import type { Problem } from "../api/types";
import { COMMON_PREFIXES, prefixesOf, shortIri } from "../rdf/terms";
import { nearest } from "./text";

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
