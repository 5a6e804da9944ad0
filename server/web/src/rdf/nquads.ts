/** N-Quads text, as the server writes it: one statement on a line. */
import type { Mapping, RdfTerm } from "../api/types";
import { XSD } from "./terms";

export interface Statement {
  s: RdfTerm;
  p: RdfTerm;
  o: RdfTerm;
  /** The name of the graph; none is the default graph. */
  g?: RdfTerm;
  line: string;
}

const TERM = /\s*(?:<([^>]*)>|_:([^\s]+)|"((?:[^"\\]|\\.)*)"(?:\^\^<([^>]*)>|@([A-Za-z0-9-]+))?)/y;

export function parseNquads(text: string): Statement[] {
  return text.split("\n").flatMap((line) => {
    const statement = parseLine(line);
    return statement === null ? [] : [statement];
  });
}

function parseLine(line: string): Statement | null {
  if (line.trim() === "" || line.startsWith("#")) return null;
  const terms: RdfTerm[] = [];
  TERM.lastIndex = 0;
  for (let found = TERM.exec(line); found !== null && terms.length < 4; found = TERM.exec(line)) terms.push(termOf(found));
  const [s, p, o, g] = terms;
  if (s === undefined || p === undefined || o === undefined) return null;
  return g === undefined ? { s, p, o, line } : { s, p, o, g, line };
}

/** Statements as rows of a table; those of named graphs have a column more. */
export function statementRows(text: string): Mapping[] {
  return parseNquads(text).map(({ s, p, o, g }) => {
    const triple = { subject: s, predicate: p, object: o };
    return g === undefined ? triple : { ...triple, graph: g };
  });
}

function termOf([, iri, blank, literal, datatype, language]: RegExpExecArray): RdfTerm {
  if (iri !== undefined) return { type: "uri", value: unescaped(iri) };
  if (blank !== undefined) return { type: "bnode", value: blank };
  const value = unescaped(literal ?? "");
  if (language !== undefined) return { type: "literal", value, "xml:lang": language };
  return { type: "literal", value, datatype: datatype ?? `${XSD}string` };
}

const ESCAPES: Record<string, string> = { t: "\t", n: "\n", r: "\r", b: "\b", f: "\f", '"': '"', "'": "'", "\\": "\\" };

function unescaped(text: string): string {
  return text.replace(/\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))/g, (_, u?: string, U?: string, one?: string) => {
    const code = u ?? U;
    return code !== undefined ? String.fromCodePoint(parseInt(code, 16)) : (ESCAPES[one ?? ""] ?? one ?? "");
  });
}
