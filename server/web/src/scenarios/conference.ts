/** Six researchers walk through four rooms; Paul Erdoes meets his co-authors again and again. */
import { MINUTE, pick, type Sample } from "./sample";

const PEOPLE = ["Paul Erdoes", "Vera Sos", "Ronald Graham", "Fan Chung", "Laszlo Lovasz", "Endre Szemeredi"];
const ROOMS = ["hall", "library", "office", "kitchen"];
const PREFIXES = `PREFIX plan: <http://deri.org/floorplan/> PREFIX foaf: <http://xmlns.com/foaf/0.1/> PREFIX dc: <http://purl.org/dc/elements/1.1/>
PREFIX dcterms: <http://purl.org/dc/terms/> PREFIX swrc: <http://swrc.ontoware.org/ontology#> PREFIX : <http://deri.org/dblp/>`;

const people = PEOPLE.map((name, at) => `:p${at} foaf:name "${name}" .`).join("\n");
const works = PEOPLE.slice(1).map((_, at) => `:w${at} dc:creator :p0, :p${at + 1} ; dcterms:partOf :proceedings . :proceedings swrc:editor :p${at + 1} .`).join("\n");
const rooms = ROOMS.map((room, at) => {
  const next = ROOMS[(at + 1) % ROOMS.length] ?? "";
  return `plan:${room} plan:name "${room}" ; plan:connected plan:${next} . plan:${next} plan:connected plan:${room} .`;
}).join("\n");

export const conference: Sample = {
  graphs: {
    "http://deri.org/dblp/": `${PREFIXES}\n${people}\n${works}`,
    "http://deri.org/floorplan/": `${PREFIXES}\n${rooms}`,
  },
  spanMs: 2 * MINUTE,
  at: (step, _, random) => {
    // Paul is seen in every other step, after somebody else.
    const others = [1 + Math.floor(random() * 5), step % 2 === 0 ? 0 : 1 + Math.floor(random() * 5)];
    return others.map((person) => ({ stream: "http://deri.org/streams/rfid", turtle: `${PREFIXES} :p${person} plan:detectedAt plan:${pick(ROOMS, random)} .` }));
  },
};
