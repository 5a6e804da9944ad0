/** What can be read off the text of a query without understanding all of it. */
import { shortIri, type Prefixes } from "../rdf/terms";

/** Comments and strings are replaced by blanks of the same length, so that places stay. */
export function bare(text: string): string {
  const hidden = /"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|<[^<>\s]*>|#[^\n]*/g;
  return text.replace(hidden, (found) => (found.startsWith("<") ? found : found.replace(/[^\n]/g, " ")));
}

export function variablesOf(text: string): string[] {
  return [...new Set(bare(text).match(/[?$][\p{L}\p{N}_]+/gu) ?? [])];
}

/** Windows that the text names: `FROM NAMED WINDOW :w ON :s`. */
export function windowsOf(text: string): string[] {
  const found = bare(text).matchAll(/\bNAMED\s+WINDOW\s+(\S+)\s+ON\b/gi);
  return [...new Set(Array.from(found, ([, name]) => name ?? ""))];
}

/** The IRI that a name or `<iri>` stands for; null where its prefix is not declared. */
export function iriOf(name: string, prefixes: Prefixes): string | null {
  if (name.startsWith("<")) return name.slice(1, -1);
  const [prefix = "", ...local] = name.split(":");
  const namespace = prefixes.get(prefix);
  return namespace === undefined ? null : namespace + local.join(":");
}

/** Where a text speaks of an IRI: as it is, or by a prefix. */
export function placeOf(iri: string, text: string, prefixes: Prefixes): { from: number; to: number } | null {
  for (const written of [`<${iri}>`, shortIri(iri, prefixes)]) {
    const from = bare(text).indexOf(written);
    if (from >= 0) return { from, to: from + written.length };
  }
  return null;
}

/** Predicates that triple patterns over streams name outright: `?room :temperature ?t ; :smoke ?s`. */
export function predicatesOf(text: string): { name: string; from: number; to: number }[] {
  const body = bare(text);
  const term = "(?:[?$][\\p{L}\\p{N}_]+|<[^<>\\s]*>|[\\p{L}\\p{N}_-]*:[\\p{L}\\p{N}_-]+|_:\\S+|\\[\\])";
  const name = "(<[^<>\\s]*>|[\\p{L}\\p{N}_-]*:[\\p{L}\\p{N}_-]+)";
  const pattern = new RegExp(`(?:${term}\\s+|;\\s*)${name}\\s+(?=[?$"'<:\\[\\d_+-]|[\\p{L}]+:|true|false)`, "gu");
  const isOnStream = streamPlaces(body);
  return Array.from(body.matchAll(pattern), (found) => {
    const at = found.index + found[0].indexOf(found[1] ?? "", found[0].startsWith(";") ? 0 : 1);
    return { name: found[1] ?? "", from: at, to: at + (found[1] ?? "").length };
  }).filter(({ from }) => isOnStream(from));
}

/**
 * Whether patterns at a place read a stream: inside `WINDOW … { }` and `STREAM … { }`; in C-SPARQL everywhere but in
 * GRAPH and in templates, unless the query also reads static data without a GRAPH.
 */
function streamPlaces(body: string): (at: number) => boolean {
  const isMixed = /\bFROM\s+(?!STREAM\b|NAMED\b)/i.test(body);
  const outside: Reads = /\bFROM\s+(?:NAMED\s+)?STREAM\b/i.test(body) && !isMixed ? "streams" : "static";
  const blocks: { from: number; to: number; reads: Reads }[] = [];
  const open: { from: number; to: number; reads: Reads }[] = [];
  for (const { 0: brace, index } of body.matchAll(/[{}]/g)) {
    if (brace === "{") {
      const block = { from: index, to: body.length, reads: readBy(body.slice(0, index), open.at(-1)?.reads ?? outside) };
      blocks.push(block);
      open.push(block);
    } else {
      const block = open.pop();
      if (block !== undefined) block.to = index;
    }
  }
  // Inner blocks come after the blocks around them.
  return (at) => (blocks.filter(({ from, to }) => from < at && at < to).at(-1)?.reads ?? "static") !== "static";
}

/** What a block reads: one window, all streams, or static data. */
type Reads = "window" | "streams" | "static";

function readBy(before: string, around: Reads): Reads {
  if (/\b(?:WINDOW\s+\S+|STREAM\s+\S+\s*\[[^\]]*\])\s*$/i.test(before)) return "window";
  if (/\bCONSTRUCT(?:\s+\w+)?\s*$/i.test(before)) return "static";
  // A graph inside a window is one of its events; outside, it is static data.
  return around === "streams" && /\bGRAPH\s+\S+\s*$/i.test(before) ? "static" : around;
}

/** How many letters have to change to make one word the other. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** The candidate that looks most like a word, if one does. */
export function nearest(word: string, candidates: Iterable<string>): string | null {
  let best: string | null = null;
  let least = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const far = distance(word.toLowerCase(), candidate.toLowerCase());
    if (far < least && candidate !== word) [best, least] = [candidate, far];
  }
  return best;
}

const CLAUSES = /\s+(?=(?:FROM|WHERE|GROUP\s+BY|HAVING|ORDER\s+BY|LIMIT|OFFSET|REGISTER|SELECT|CONSTRUCT|ASK|DESCRIBE)\b)/gi;

/** One clause on a line, blocks indented by their braces. Comments and strings stay as they are. */
export function formatted(text: string): string {
  const kept: string[] = [];
  const hide = (found: string): string => `\u0001${kept.push(found) - 1}\u0002`;
  const hidden = /"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|<[^<>\s]*>|#[^\n]*\n?/g;
  const lines: string[] = [];
  let depth = 0;
  for (const raw of broken(text.replace(hidden, hide), kept).split("\n")) {
    const line = raw.trim().replace(/[ \t]+/g, " ");
    if (line === "" && (lines.length === 0 || lines.at(-1) === "")) continue;
    const closes = /^[})]+/.exec(line)?.[0].length ?? 0;
    lines.push("  ".repeat(Math.max(0, depth - closes)) + line);
    depth = Math.max(0, depth + (line.match(/[{(]/g)?.length ?? 0) - (line.match(/[})]/g)?.length ?? 0));
    if (line === "") lines[lines.length - 1] = "";
  }
  const shownAgain = lines.join("\n").replace(/\u0001(\d+)\u0002/g, (_, at: string) => (kept[Number(at)] ?? "").trimEnd());
  return `${shownAgain.trim()}\n`;
}

/** The text with a line break after each comment, before each clause, and around the braces of blocks. */
function broken(text: string, kept: string[]): string {
  const comment = (at: string): boolean => (kept[Number(at)] ?? "").startsWith("#");
  return text
    .replace(/\u0001(\d+)\u0002/g, (found, at: string) => (comment(at) ? `${found}\n` : found))
    .replace(CLAUSES, "\n")
    .replace(/\{[ \t]*(?=\S)/g, "{\n")
    .replace(/(\S)[ \t]*\}/g, "$1\n}")
    .replace(/\}[ \t]*(?=[^\s.;,)}])/g, "}\n");
}
