/** RDF terms as people read them, and as N-Triples. */
import type { RdfTerm } from "../api/types";

export const XSD = "http://www.w3.org/2001/XMLSchema#";
const NUMERIC = new Set(
  ["integer", "decimal", "double", "float", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger",
   "unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte", "negativeInteger", "nonPositiveInteger"]
    .map((name) => XSD + name),
);

/** Prefixes that are worth knowing though a query does not declare them. */
export const COMMON_PREFIXES: Record<string, string> = {
  rdf: "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
  rdfs: "http://www.w3.org/2000/01/rdf-schema#",
  xsd: XSD,
  owl: "http://www.w3.org/2002/07/owl#",
  prov: "http://www.w3.org/ns/prov#",
  sosa: "http://www.w3.org/ns/sosa/",
  ssn: "http://www.w3.org/ns/ssn/",
  saref: "https://saref.etsi.org/core/",
  geo: "http://www.w3.org/2003/01/geo/wgs84_pos#",
  foaf: "http://xmlns.com/foaf/0.1/",
  schema: "http://schema.org/",
  dcterms: "http://purl.org/dc/terms/",
  sioc: "http://rdfs.org/sioc/ns#",
};

export type Prefixes = ReadonlyMap<string, string>;

/** The prefixes that a text declares; those that everybody knows come after its own. */
export function prefixesOf(text: string): Prefixes {
  const found = new Map<string, string>();
  const declared = /\bPREFIX\s+([\p{L}\p{N}_.-]*):\s*<([^>\s]*)>/giu;
  for (const [, name, iri] of text.matchAll(declared)) found.set(name ?? "", iri ?? "");
  const known = new Set(found.values());
  for (const [name, iri] of Object.entries(COMMON_PREFIXES)) {
    if (!found.has(name) && !known.has(iri)) found.set(name, iri);
  }
  return found;
}

const LOCAL = /^[\p{L}\p{N}_][\p{L}\p{N}_.-]*$/u;

export function shortIri(iri: string, prefixes: Prefixes): string {
  let best: string | null = null;
  for (const [name, namespace] of prefixes) {
    if (namespace === "" || !iri.startsWith(namespace)) continue;
    const local = iri.slice(namespace.length);
    if (LOCAL.test(local) && !local.endsWith(".") && (best === null || local.length + name.length < best.length - 1)) {
      best = `${name}:${local}`;
    }
  }
  return best ?? `<${iri}>`;
}

/** The last part of an IRI: enough for a label where the whole of it is in the tooltip. */
export function localName(iri: string): string {
  const cut = Math.max(iri.lastIndexOf("#"), iri.lastIndexOf("/"), iri.lastIndexOf(":"));
  return cut >= 0 && cut < iri.length - 1 ? iri.slice(cut + 1) : iri;
}

export function isNumeric(term: RdfTerm | undefined): boolean {
  return term?.datatype !== undefined && NUMERIC.has(term.datatype);
}

export function numberOf(term: RdfTerm | undefined): number | null {
  if (!isNumeric(term)) return null;
  const value = Number(term?.value);
  return Number.isFinite(value) ? value : null;
}

/** A term as a cell of a table shows it. */
export function shown(term: RdfTerm | undefined, prefixes: Prefixes): string {
  if (term === undefined) return "";
  if (typeof term.value !== "string") {
    const { subject, predicate, object } = term.value;
    return `<<( ${shown(subject, prefixes)} ${shown(predicate, prefixes)} ${shown(object, prefixes)} )>>`;
  }
  if (term.type === "uri") return shortIri(term.value, prefixes);
  if (term.type === "bnode") return `_:${term.value}`;
  if (isNumeric(term)) return shownNumber(term.value);
  return term["xml:lang"] !== undefined ? `${term.value} @${term["xml:lang"]}` : term.value;
}

/** Long fractions are cut to four digits; the tooltip has all of them. */
export function shownNumber(text: string): string {
  const value = Number(text);
  if (!Number.isFinite(value) || !/[.eE]/.test(text)) return text;
  if (value !== 0 && (Math.abs(value) < 0.0001 || Math.abs(value) >= 1e15)) return value.toExponential(3);
  return String(Number(value.toFixed(4)));
}

/** A term in N-Triples; also its identity. */
export function ntriples(term: RdfTerm | undefined): string {
  if (term === undefined) return "";
  if (typeof term.value !== "string") {
    const { subject, predicate, object } = term.value;
    return `<<( ${ntriples(subject)} ${ntriples(predicate)} ${ntriples(object)} )>>`;
  }
  if (term.type === "uri") return `<${term.value}>`;
  if (term.type === "bnode") return `_:${term.value}`;
  const text = `"${escaped(term.value)}"`;
  if (term["xml:lang"] !== undefined) return `${text}@${term["xml:lang"]}`;
  return term.datatype !== undefined && term.datatype !== `${XSD}string` ? `${text}^^<${term.datatype}>` : text;
}

function escaped(text: string): string {
  return text.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n").replace(/\r/g, "\\r").replace(/\t/g, "\\t");
}
